"""What mkdocs does with a page before it renders it; the pages themselves are written to be read on a code host.

Doctests are shown as Python sessions, without the marks of empty lines. Links to files outside of docs/ lead to the
repository if mkdocs.yml names one (`repo_url`), and are plain text otherwise.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page, adapted to the site."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        if target.startswith("docs/"):
            return found[0]
        url = (config.get("repo_url") or "").rstrip("/")
        return f"[{found[1]}]({url}/blob/main/{target}{found[3] or ''})" if url else found[1]

    return LINK.sub(link, SESSION.sub("```pycon\n", markdown).replace("<BLANKLINE>", ""))
