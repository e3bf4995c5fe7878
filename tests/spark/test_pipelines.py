"""Declarative Pipelines, by the how-to page as `spark-pipelines` runs it; and real-time mode."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from tests.spark.test_streaming import Source, events
from tests.test_docs import ROOT

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark.pipelines", reason="Declarative Pipelines came with Spark 4.1")
pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = (ROOT / "docs" / "howto" / "pipelines.md").read_text()
RUNNER = Path(sys.executable).parent / "spark-pipelines"


def test_the_page(tmp_path: Path) -> None:
    """Write the files of the page and run them: the view and the table have the rows of a batch."""
    specification, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    definitions, *_ = re.findall(r"```python title=[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "transformations").mkdir()
    specification = specification.replace("s3://bucket/pipeline", f"file://{tmp_path}/kept")
    (tmp_path / "spark-pipeline.yml").write_text(specification)
    (tmp_path / "transformations" / "funnels.py").write_text(definitions.replace("s3://bucket", str(tmp_path)))
    source = Source(None, tmp_path / "clicks")  # type: ignore[arg-type]
    source.add(events("a1 a2 b9"), events("a900"))
    for path in source.folder.glob("*.parquet"):
        table = pq.read_table(path)
        names = ["time", "type", "user"]
        kinds = [{"A": "View", "B": "Buy"}[kind] for kind in table["type"].to_pylist()]
        pq.write_table(table.set_column(1, "type", [kinds]).rename_columns(names), path)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    conf = ["--conf", "spark.sql.catalogImplementation=hive", "--conf", "spark.ui.enabled=false"]
    done = subprocess.run(
        [RUNNER, "run", *conf], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    for name in ("funnels", "funnels_live"):
        rows = pq.read_table(sorted((tmp_path / "spark-warehouse" / name).glob("*.parquet"))).to_pylist()
        assert [(row["user"], row["count"]) for row in rows] == [(1, 3.0)], name


def start_in_real_time(frame: DataFrame, folder: Path, mode: str = "update", sink: str = "console") -> Any:
    writer = frame.writeStream.format(sink).outputMode(mode).option("checkpointLocation", str(folder))
    return writer.queryName(f"never{len(list(folder.parent.iterdir()))}").trigger(realTime="5 minutes").start()


def test_real_time_mode_is_refused_for_modes_sinks_and_sources(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself refuses it before the first row, by name."""
    source = Source(spark, tmp_path / "files")
    q = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 1 minute")
    rows = source.add(events("a1")).marked()
    early = q.run(rows, output_mode="update")
    with pytest.raises(PySparkException, match=r"STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED"):
        start_in_real_time(q.run(rows), tmp_path / "a", "append")
    with pytest.raises(PySparkException, match=r"STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"):
        start_in_real_time(early, tmp_path / "b", sink="memory")
    with pytest.raises(PySparkException, match=r"STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED"):
        start_in_real_time(early, tmp_path / "c").awaitTermination(120)


def test_real_time_mode_is_refused_for_state_in_python(spark: SparkSession, tmp_path: Path) -> None:
    """Source and sink are those of the mode, and a query without state runs: it is the state that is refused."""
    jvm: Any = spark._jvm
    streams = jvm.org.apache.spark.sql.execution.streaming.sources
    made = getattr(streams, "LowLatencyMemoryStream$")
    numbers = getattr(made, "MODULE$").singlePartition(
        spark._jsparkSession, jvm.org.apache.spark.sql.Encoders.LONG()
    )
    frame = DataFrame(numbers.toDF(), spark)
    running = start_in_real_time(frame, tmp_path / "plain")
    assert not running.awaitTermination(5)
    running.stop()
    rows = frame.selectExpr("timestamp_seconds(value) AS time", "'A' AS type").withWatermark("time", "1 second")
    q = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 1 minute")
    with pytest.raises(PySparkException, match="STDS_FAILED_TO_READ_OPERATOR_METADATA"):
        start_in_real_time(q.run(rows, output_mode="update"), tmp_path / "ours").awaitTermination(120)
