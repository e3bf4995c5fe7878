from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import QUICK
from tests.external.broker import Broker
from tests.external.jars import KAFKA, TABLES, fetch_jars

from sparkleene.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs until the tests have ended."""
    made = Broker(tmp_path_factory.mktemp("broker"))
    try:
        yield made.start()
    finally:
        made.stop()


def jars() -> str:
    """Return the jars of all connectors that can be had, as Spark takes them."""
    found: list[str] = []
    for name, coordinates in (("kafka", KAFKA), *(((one.split(":")[1]), (one,)) for one in TABLES)):
        try:
            found += fetch_jars(name, coordinates)
        except pytest.skip.Exception:  # the tests that need it say so
            continue
    return ",".join({os.path.basename(path): path for path in found}.values())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with the connectors."""
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    config = {
        "spark.driver.extraJavaOptions": QUICK,
        "spark.jars": jars(),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse),
    }
    if any("delta" in one for one in TABLES):
        config |= {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    if any("iceberg" in one for one in TABLES):
        config |= {
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(warehouse / "lake"),
        }
    started = session("sparkleene external", master="local[2]", memory="1g", config=config)
    yield started
    started.stop()
