"""Workers whose Python cannot run queries are found out before a query runs, with advice."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkleene.spark import workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from pyspark.sql import SparkSession
import sparkleene as sk

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
frame = spark.createDataFrame([(1, "A")], "time bigint, type string")
for step in ("first", "shipped"):
    try:
        sk.query("RETURN COUNT(*) PATTERN A").run(frame)
    except sk.SparkleeneError as error:
        print(error)
    sk.spark.ship(spark)
"""


def test_the_python_of_this_process_is_not_asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_good", set())
    monkeypatch.setattr(workers, "ask_workers", lambda spark: pytest.fail("a task was run"))
    workers.check_workers(spark)


def test_a_worker_tells_its_python(spark: SparkSession) -> None:
    assert workers.ask_workers(spark) == (sys.executable, [])


def test_what_a_worker_lacks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_good", set())
    monkeypatch.setattr(workers, "_runs_this_python", lambda spark: False)
    monkeypatch.setattr(workers, "NEEDED", ("numpy", "no_such_package"))
    with pytest.raises(workers.SparkleeneError, match="which has no no_such_package\n") as caught:
        workers.check_workers(spark)
    [found] = caught.value.diagnostics
    assert found.code == "worker-python" and f"PYSPARK_PYTHON={sys.executable}" in str(found.help)


@pytest.mark.slow
def test_a_session_of_an_environment_that_is_not_active(tmp_path: Path) -> None:
    """A session of one's own, whose workers run another Python: here one without any packages."""
    venv.create(tmp_path / "bare", symlinks=True)
    other = tmp_path / "bare" / "bin" / "python"
    (tmp_path / "job.py").write_text(SCRIPT)
    more = {
        "PYSPARK_PYTHON": str(other),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(Path(workers.__file__).parents[2]),
    }
    # Spark hands PYTHONPATH on to its workers, so what is found there is the package alone
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, timeout=240
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("error")]
    lacking = f"error[worker-python]: Spark's workers run {other}, which has no "
    assert done.returncode == 0, done.stderr
    assert [line.startswith(lacking) for line in lines] == [True, True], done.stdout
    assert lines[1].removeprefix(lacking) == "numba, numpy, pyarrow"
