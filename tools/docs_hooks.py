"""What mkdocs does with a page before it renders it; the pages themselves are written to be read on a code host.

The site's name has the version. Doctests are shown as Python sessions, without the marks of empty lines. Links to
files outside of docs/ lead to the repository if mkdocs.yml names one (`repo_url`), and else to the page that says
where the source is.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Show the version of the project beside its name, and its license below."""
    project = tomllib.loads(Path(config.config_file_path).with_name("pyproject.toml").read_text())["project"]
    config.site_name = f"{config.site_name} {project['version']}"
    config.copyright = f"{config.site_name}, {project['license']}"
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page, adapted to the site."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        if target.startswith("docs/"):
            return found[0]
        url = (config.get("repo_url") or "").rstrip("/")
        if url:
            return f"[{found[1]}]({url}/blob/main/{target}{found[3] or ''})"
        source = posixpath.relpath("docs/source.md", folder)
        return found[1] if page.file.src_uri == "source.md" else f"[{found[1]}]({source})"

    return LINK.sub(link, SESSION.sub("```pycon\n", markdown).replace("<BLANKLINE>", ""))
