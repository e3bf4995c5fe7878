"""Charts where people look: below the cell of a notebook, in a window, or as text in the terminal."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
from typing import Any

from sparkleene.charts.drawable import Drawable


def show(chart: Drawable) -> None:
    """Show a chart; see `Chart.show`."""
    if is_notebook():
        importlib.import_module("IPython.display").display(chart)
    elif has_windows():
        from matplotlib import pyplot

        from sparkleene.charts.picture import use_style

        with use_style(chart):
            chart.figure(pyplot.figure)
        pyplot.show()
    else:
        width = shutil.get_terminal_size().columns
        print(chart.text(width=min(width, 100), color=sys.stdout.isatty()))


def is_notebook() -> bool:
    """Tell whether this program is a notebook's, which shows pictures; a terminal of IPython does not."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def has_windows() -> bool:
    """Tell whether matplotlib is here and can open windows: there is a display, and a library to draw on it."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    import matplotlib
    from matplotlib.backends.registry import backend_registry

    found = backend_registry.resolve_backend(matplotlib.get_backend())  # type: ignore[no-untyped-call]
    return found[1] is not None
