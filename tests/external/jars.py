"""Jars of Kafka, of Spark's connectors and of table formats, brought by Maven into a folder of this checkout."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).parents[2] / "build" / "jars"
SPARK = pyspark.__version__
MINOR = ".".join(SPARK.split(".")[:2])
BROKER = ("org.apache.kafka:kafka_2.13:4.1.0",)
KAFKA = (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{MINOR}.0", f"org.apache.spark:spark-avro_2.13:{MINOR}.0")
TABLES = {
    "4.0": ("io.delta:delta-spark_2.13:4.0.0", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1"),
    "4.1": ("io.delta:delta-spark_4.1_2.13:4.4.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    "4.2": ("io.delta:delta-spark_4.2_2.13:4.4.0",),
}.get(MINOR, ())
OWN = ("org.apache.hadoop", "org.scala-lang", "org.slf4j")  # what Spark has itself
LOCKED = 900  # seconds that Maven may take


@cache
def fetch_jars(name: str, coordinates: tuple[str, ...], without: tuple[str, ...] = OWN) -> tuple[str, ...]:
    """Return jars with all that they need; the test is skipped where they cannot be had."""
    if not coordinates:
        pytest.skip(f"there is no {name} for Spark {MINOR}")
    if shutil.which("mvn") is None:
        pytest.skip(f"{name} is brought by Maven, and there is no mvn")
    folder = ROOT / name / "-".join(one.rpartition(":")[2] for one in coordinates)
    jars = folder / "jars"
    if not jars.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(_project(coordinates, without))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(
                [*command, "-DoutputDirectory=found"], cwd=folder, capture_output=True, text=True, timeout=LOCKED
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"{name} {' '.join(coordinates)} cannot be had: mvn took more than {LOCKED} s")
        if done.returncode:
            why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "mvn failed")
            pytest.skip(f"{name} {' '.join(coordinates)} cannot be had: {why[:300]}")
        (folder / "found").rename(jars)
    return tuple(str(path) for path in sorted(jars.glob("*.jar")))


def _project(coordinates: tuple[str, ...], without: tuple[str, ...]) -> str:
    left = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>" for group in without
    )
    found = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>".format(*one.split(":"))
        + f"<exclusions>{left}</exclusions></dependency>"
        for one in coordinates
    )
    own = "<modelVersion>4.0.0</modelVersion><groupId>own</groupId><artifactId>own</artifactId><version>1</version>"
    head = '<project xmlns="http://maven.apache.org/POM/4.0.0">'
    return f"{head}{own}<dependencies>{found}</dependencies></project>"
