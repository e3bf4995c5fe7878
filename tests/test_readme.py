"""Run the ```python blocks of README.md and docs/*.md, those of one file in order and in one namespace.

A block of `>>>` lines is run as a doctest: what it shows is what the code prints.
"""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """Return the Python blocks of a Markdown text with the number of lines before each."""
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


def run(path: Path) -> None:
    """Run all blocks of a file; errors point at its lines."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(path.read_text(encoding="utf-8")):
        if code.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, namespace, path.name, str(path), line)
            runner = doctest.DocTestRunner(
                verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            shown: list[str] = []
            runner.run(test, out=shown.append, clear_globs=False)
            namespace = test.globs
            assert not shown, "".join(shown)
        else:
            exec(compile("\n" * line + code, str(path), "exec"), namespace)


DOCUMENTS = [
    path
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    if blocks(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(path)


def test_readme_has_examples() -> None:
    assert ROOT / "README.md" in DOCUMENTS


def test_blocks_share_a_namespace_and_outputs_are_checked(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\n```\ntext\n```\nnot python\n```\n```python\n>>> x + 1\n3\n\n```\n")
    run(page)
    page.write_text(page.read_text() + "```python\n>>> x + 1\n4\n\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        run(page)


def test_errors_point_at_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\nx / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run(page)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 5)
