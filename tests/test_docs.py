"""Run the code in README.md and docs/: what a page shows is what happens.

The blocks of a page run in order, in a folder of their own. ```python blocks share a namespace; one of `>>>` lines
is a doctest. In ```console blocks each `$ command` is run by a shell, or here if it is one call of sparkleene, and
must print what stands below it. Blocks titled "Not run here: ..." are only compiled. Links between pages must lead
somewhere.
"""

from __future__ import annotations

import doctest
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from tests.cli.command import in_this_process

import sparkleene as sk
from sparkleene.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXIT = re.compile(r"\[exit code (\d+)\]")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SECONDS = 120  # a command may start Spark, and compile kernels


@dataclass(frozen=True)
class Block:
    """Marked code of a page."""

    mark: str
    code: str
    line: int  # how many lines are before it
    run: bool


def blocks(text: str) -> list[Block]:
    """Return the Python and console blocks of a Markdown text."""
    return [
        Block(found[1], found[3], text.count("\n", 0, found.start(3)), 'title="Not run here' not in found[2])
        for found in BLOCK.finditer(text)
        if found[1] in ("python", "console")
    ]


def run(path: Path, change: Callable[[str], str] | None = None) -> None:
    """Run all blocks of a page; errors point at its lines.

    With a `change` of its text, where what blocks need is there, those titled "Not run here" are run as well.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    text = path.read_text(encoding="utf-8")
    for block in blocks(text if change is None else change(text)):
        if block.mark == "console":
            for command, wanted, line in commands(block):
                check(command, wanted, f"{path}:{line}")
        elif block.code.lstrip().startswith(">>>"):
            parser = doctest.DocTestParser()
            test = parser.get_doctest(block.code, namespace, path.name, str(path), block.line)
            runner, shown = doctest.DocTestRunner(verbose=False, optionflags=LOOSE), list[str]()
            if block.run or change is not None:
                runner.run(test, out=shown.append, clear_globs=False)
                namespace = test.globs
            assert not shown, "".join(shown)
        else:
            code = compile("\n" * block.line + block.code, str(path), "exec")
            if block.run or change is not None:
                exec(code, namespace)


def commands(block: Block) -> Iterator[tuple[str, str, int]]:
    """Yield the commands of a console block, what each shows, and its line."""
    for found in re.finditer(r"^\$ (.*(?:\n> .*)*)\n?((?:(?!\$ ).*\n)*)", block.code, re.MULTILINE):
        line = block.line + 1 + block.code.count("\n", 0, found.start())
        yield found[1].replace("\n> ", "\n"), found[2], line


def check(command: str, wanted: str, place: str) -> None:
    """Run a command and compare what it prints, and how it ends."""
    environment = {"COLUMNS": "110", "NO_COLOR": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = words_of(command)
    if words[:1] == ["sparkleene"]:
        done = in_this_process(words[1:], Path.cwd(), together=True, **environment)
    else:
        done = subprocess.run(
            command, shell=True, env=os.environ | environment, timeout=SECONDS, text=True, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    end = EXIT.search(wanted)
    wanted, printed = (
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
        for text in (EXIT.sub("", wanted).rstrip(), done.stdout)
    )
    told = f"{place}\n$ {command}\nexpected:\n{wanted}\nfound, exit code {done.returncode}:\n{printed}"
    assert done.returncode == (int(end[1]) if end else 0), told
    assert doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS), told


def words_of(command: str) -> list[str]:
    """Return the words of a command, none if it has what only a shell understands.

    >>> words_of("sparkleene check 'a > b' --short"), words_of("cat a | sort"), words_of("ls *.q")
    (['sparkleene', 'check', 'a > b', '--short'], [], [])
    """
    outside = re.sub(r"'[^']*'", "", command.replace("\\\n", " "))
    return [] if re.search(r"""[|&;<>()$`"*?~#\\\n]""", outside) else shlex.split(command.replace("\\\n", " "))


def documents() -> Iterator[object]:
    """Yield the pages with code."""
    for path in PAGES:
        found = blocks(path.read_text(encoding="utf-8"))
        spark = any(block.run and re.search(r"\bspark\b", block.code) for block in found)
        if found:
            marks = [pytest.mark.spark] if spark else []
            yield pytest.param(path, marks=marks, id=str(path.relative_to(ROOT)))


@pytest.fixture
def _settings_stay(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo what a page sets in the Spark session, which all tests of a process share."""
    if request.node.get_closest_marker("spark") is None:
        yield
        return
    spark, partitions = request.getfixturevalue("spark"), "spark.sql.shuffle.partitions"
    yield
    spark.conf.set(partitions, spark.sparkContext.getConf().get(partitions))


@pytest.mark.parametrize("path", [*documents()])
@pytest.mark.usefixtures("_settings_stay")
def test_code_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in LINK.findall(text):
        target, _, anchor = link.partition("#")
        if not re.match(r"\w+:", link):
            file = (path.parent / target).resolve() if target else path
            assert file.exists(), f"{path.relative_to(ROOT)}: {link}"
            assert not anchor or anchor in anchors(file), f"{path.relative_to(ROOT)}: {link}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_source_files_that_are_named_are_there(path: Path) -> None:
    package = ROOT / "src" / "sparkleene"
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for file in re.findall(r"`(\w[\w/]*/(?:\w+\.py)?)`", text):
        assert (package / file).exists() or (ROOT / file).exists(), f"{path.relative_to(ROOT)}: {file}"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/concepts/inside.md", "docs/concepts/decisions.md"])
def test_names_are_in_the_files_where_they_are_said_to_be(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"`(\w+)`(?: in | \()`([\w/]+\.py)`", text.replace("\n", " "))
    for file, names in re.findall(r"`([\w/]+\.py)` \(((?:`[\w.]+`(?:, )?)+)\)", text):
        found += [(name, file) for name in re.findall(r"\w+", names)]
    for name, file in found:
        source = (ROOT / "src" / "sparkleene" / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{name}\b", source), f"{page}: {name} is not in {file}"


def sections(path: Path) -> dict[str, str]:
    """Return the text below each heading of a page, that of smaller headings aside."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_interface_is_described_with_all_arguments() -> None:
    found = sections(ROOT / "docs" / "reference" / "api.md")
    public = {f"sk.{name}": getattr(sk, name) for name in sk.__all__}
    public |= {f"sk.spark.{name}": getattr(sk.spark, name) for name in sk.spark.__all__}
    public |= {f"Query.{name}": of for name, of in vars(sk.Query).items() if name[0] != "_" and callable(of)}
    for name, of in public.items():
        if inspect.isfunction(of):
            arguments = set(inspect.signature(of).parameters) - {"self"}
            missing = {each for each in arguments if f"`{each}`" not in found[name]}
            assert not missing, f"{name}: {missing}"
        else:
            assert name in (ROOT / "docs" / "reference" / "api.md").read_text(), name


def test_the_command_line_is_described_with_all_options() -> None:
    found = sections(ROOT / "docs" / "reference" / "cli.md")
    for name, command in typer.main.get_command(app).commands.items():
        told = found[name] + found["How events are read"] + (found["run"] if "run`" in found[name] else "")
        options = {option for each in command.params for option in each.opts if option.startswith("--")}
        missing = {option for option in options - {"--help"} if option not in told}
        assert not missing, f"{name}: {missing}"


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, timeout=SECONDS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "BLANKLINE" not in home and '<a href="source.html">CONTRIBUTING.md</a>' in home  # tools/docs_hooks.py
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"Sparkleene {version}" in home and "<th></th>" not in home and "style.css" in home


def test_readme_has_examples() -> None:
    assert blocks((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_patterns_that_readme_begins_with_are_queries() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    patterns = re.findall(r"`(PATTERN [^`]+)`", first)
    assert len(patterns) == 4 and first.count("![") == 1
    for pattern in patterns:
        sk.query(f"RETURN COUNT(*) {pattern}")


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_blocks_share_a_namespace_and_outputs_are_checked(tmp_path: Path) -> None:
    good = "```python\nx = 2\n```\ntext\n```\nnot python\n```\n```python\n>>> x + 1\n3\n\n```\n"
    run(page(tmp_path, good))
    with pytest.raises(AssertionError, match="Expected"):
        run(page(tmp_path, good + "```python\n>>> x + 1\n4\n\n```\n"))


def test_errors_point_at_the_line_of_the_page(tmp_path: Path) -> None:
    path = page(tmp_path, "# Title\n\n```python\nx = 1\nx / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run(path)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (path, 5)


def test_code_that_is_not_run_is_compiled(tmp_path: Path) -> None:
    run(page(tmp_path, '```python title="Not run here: needs a broker"\nraise SystemExit\n```\n'))
    with pytest.raises(SyntaxError):
        run(page(tmp_path, '```python title="Not run here: needs a broker"\nraise (\n```\n'))


def test_commands_run_in_the_folder_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    python = "```python\nfrom pathlib import Path\n_ = Path('a.txt').write_text('one\\n\\ntwo  \\n')\n```\n"
    run(page(tmp_path, python + "```console\n$ cat a.txt\none\n\ntwo\n$ cat \\\n> a.txt | wc -l\n3\n```\n"))
    run(page(tmp_path, "```console\n$ cat a.txt\no...o\n$ true\n$ sh -c 'exit 3'\n[exit code 3]\n```\n"))


WRONG = ["$ echo two\none\n", "$ echo one\n", "$ false\n", "$ true\n[exit code 1]\n"]


@pytest.mark.parametrize("shown", WRONG)
def test_commands_that_do_otherwise_fail(shown: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"page.md:2"):
        run(page(tmp_path, f"```console\n{shown}```\n"))
