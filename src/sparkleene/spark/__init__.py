"""Queries on Spark: adapters around the in-process engine, without semantics of their own.

`Query.run` takes DataFrames as they are; here is what a session may need besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkleene.spark.session import session
from sparkleene.spark.shipping import ship
from sparkleene.spark.state.checkpoint import check_checkpoint
from sparkleene.spark.status import Status, status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Status", "check_checkpoint", "register", "session", "ship", "status"]


def register(spark: SparkSession, name: str = "trends") -> None:
    """Register a table function, so that SQL can run queries: `SELECT * FROM trends(TABLE(events), 'RETURN ...')`.

    The options of `sparkleene.query` are named arguments: `time => 'at'`. Where PySpark is 4.2 or newer, the data
    source of docs/reference/replay.md is registered as well: `spark.readStream.format("sparkleene.replay")`.
    """
    from sparkleene.query import query
    from sparkleene.spark.table_function import register as add

    add(spark, query, name)
    try:
        from sparkleene.spark.replay.data_source import Replay
    except ImportError:  # what it is derived from came with PySpark 4.2
        return
    spark.dataSource.register(Replay)
