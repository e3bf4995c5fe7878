"""A chart is shown where people look."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from sparkleene.charts import Chart, chart

WINDOW = """
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

class FigureManager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        from matplotlib import pyplot
        for number in pyplot.get_fignums():
            one = pyplot.figure(number)
            print(type(one.canvas).__name__, type(one.canvas).__module__, len(one.axes))

class FigureCanvas(FigureCanvasAgg):
    required_interactive_framework = "paper"
    manager_class = FigureManager
"""
SHOW = """
import matplotlib.cbook
matplotlib.cbook._get_running_interactive_framework = lambda: None  # as if there were a display
import pyarrow as pa
from sparkleene.charts import chart
chart(pa.table({"user": ["ann"], "count": [3.0]}), groups=["user"]).show()
"""


def users() -> Chart:
    return chart(pa.table({"user": ["ann"], "count": [3.0]}), groups=["user"])


def test_in_a_terminal_it_is_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "40")
    users().show()
    assert capsys.readouterr().out == f"{users().text(width=40)}\n"


def test_in_a_notebook_it_is_the_output_of_a_cell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[object] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    vars(display)["display"] = shown.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    made = users()
    made.show()
    assert shown == [made] and not capsys.readouterr().out


def test_where_there_are_windows_it_opens_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paper.py").write_text(WINDOW)
    monkeypatch.setenv("MPLBACKEND", "module://paper")
    (tmp_path / "show.py").write_text(SHOW)  # its folder is where modules are found
    done = subprocess.run([sys.executable, tmp_path / "show.py"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "FigureCanvas paper 1\n"), done.stderr
