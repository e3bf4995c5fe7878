"""The session is the active one, or a new one that fits the machine; what is missing is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import sparkleene as sk
from sparkleene.errors import SparkleeneError
from sparkleene.spark.session import (
    BATCH_BYTES,
    GIB,
    UNLIMITED,
    defaults,
    java_version,
    local_cores,
    memory_of_machine,
    session,
    suggest_settings,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_active_session_is_returned_as_it_is(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert session() is spark
    assert session("another name", master="local[2]") is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == before == "2"


@pytest.mark.parametrize(
    "arguments",
    [{"master": "local[7]"}, {"ui": True}, {"memory": "9g"}, {"config": {"spark.sql.shuffle.partitions": "9"}},
     {"master": "sc://localhost:15002"}],
)  # fmt: skip
def test_an_active_session_that_differs_is_an_error(spark: SparkSession, arguments: dict[str, object]) -> None:
    with pytest.raises(SparkleeneError, match=r"error\[session-differs\].*\n.*stop it first"):
        session(**arguments)  # type: ignore[arg-type]


def test_settings_of_the_new_session(spark: SparkSession) -> None:
    conf = spark.conf
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert conf.get("spark.ui.enabled") == "false"
    assert conf.get("spark.pyspark.python") == sys.executable
    assert conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert conf.get("spark.sql.adaptive.enabled") == "true"
    assert "SPARK_LOCAL_IP" not in os.environ or os.environ["SPARK_LOCAL_IP"] != "127.0.0.1"


def test_settings_depend_on_the_master() -> None:
    assert defaults("local[3]")["spark.sql.shuffle.partitions"] == "12"
    assert "spark.driver.host" not in defaults("spark://host:7077")
    assert local_cores("local[*]") in range(1, (os.cpu_count() or 1) + 1)
    assert local_cores("yarn") is None


def test_memory_of_a_container(tmp_path: Path) -> None:
    whole = memory_of_machine(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_of_machine(tmp_path) == whole
    (tmp_path / "memory.max").write_text(f"{GIB // 4}\n")
    assert memory_of_machine(tmp_path) == GIB // 4


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\n[ "$1" = -version ]\n')
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(("text", "major"), [("1.8.0_402", 8), ("17.0.15", 17), ("25", 25)])
def test_java_version(tmp_path: Path, text: str, major: int) -> None:
    assert java_version(str(fake_java(tmp_path, text))) == major


def test_java_that_does_not_run(tmp_path: Path) -> None:
    assert java_version(str(tmp_path / "java")) is None


def error_in_a_new_process(before: str, home: Path) -> str:
    """Return what `session()` raises in a process of its own, where no JVM runs."""
    code = f"{before}\nfrom sparkleene.spark.session import session\ntry: session()\n"
    code += "except Exception as error: print(type(error).__name__, error)"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "PYSPARK"))}
    environment |= {"JAVA_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_no_java(tmp_path: Path) -> None:
    said = error_in_a_new_process("", tmp_path)
    assert said.startswith("SparkleeneError error[missing-java]: JAVA_HOME is ")
    assert "Java 17 to 25" in said


def test_java_too_old(tmp_path: Path) -> None:
    fake_java(tmp_path, "11.0.2")
    said = error_in_a_new_process("", tmp_path)
    assert said.startswith("SparkleeneError error[missing-java]: Spark does not run on the Java 11 of ")


def test_no_pyspark(tmp_path: Path) -> None:
    said = error_in_a_new_process("import sys; sys.modules['pyspark'] = None", tmp_path)
    assert said.startswith("SparkleeneError error[missing-pyspark]: PySpark is not installed")
    assert "pip install 'sparkleene[spark]'" in said


def test_what_to_set_is_told(spark: SparkSession) -> None:
    query = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 SLIDE 10", time="id", type=None)
    batch = spark.range(10)
    assert spark.conf.get(BATCH_BYTES) == UNLIMITED and BATCH_BYTES not in query.explain(batch)
    spark.conf.set(BATCH_BYTES, "64m")
    try:
        assert f'  set       spark.conf.set("{BATCH_BYTES}", "{UNLIMITED}")' in query.explain(batch)
        work = sk.workload({"a": query.text}, time="id", type=None)
        assert BATCH_BYTES in work.explain(batch)
    finally:
        spark.conf.set(BATCH_BYTES, UNLIMITED)


def test_a_setting_that_a_host_does_not_show_is_not_told() -> None:
    def refuse(name: str) -> str:
        raise PySparkException(f"{name} is not available")

    hidden = SimpleNamespace(conf=SimpleNamespace(get=refuse))
    assert list(suggest_settings(hidden)) == []  # type: ignore[arg-type]
