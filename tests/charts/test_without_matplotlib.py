"""Charts where matplotlib is not installed: text, and a clear error for pictures."""

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
sys.modules["matplotlib"] = None  # importing it fails
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "matplotlib" else find(name, *more)
import pyarrow as pa
from sparkleene.charts import chart
made = chart(pa.table({"user": ["ann"], "count": [3.0]}), groups=["user"])
assert made._repr_svg_() is None and "ann" in made._repr_html_()
try:
    made.save("chart.svg")
except Exception as error:
    print(error)
"""


def test_text_is_enough(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("error[missing-matplotlib]: pictures need matplotlib")
    assert "pip install 'sparkleene[plot]'" in done.stdout
    assert not list(tmp_path.iterdir())
