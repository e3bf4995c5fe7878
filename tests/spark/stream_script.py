"""Runs streaming queries as a driver of its own, which tests may kill, starve or hand a damaged checkpoint.

`python stream_script.py '{"master": "local[2]"}'` starts a session with these arguments. Every line of its input is
a job as JSON; the answer is a line that begins with `done`, and holds the error, if there was one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkleene as sk
from sparkleene.spark import session

COLUMNS = "time TIMESTAMP, type STRING, user STRING, x BIGINT"
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Jobs bring checkpoints back from copies, where the upkeep of an earlier job must not write.
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
}


def run(spark: SparkSession, job: dict[str, Any]) -> str | None:
    """Run a query over the files of a folder, some in each batch, and return the error that ended it."""
    for name, value in job.get("conf", {}).items():
        spark.conf.set(name, value)
    files = job.get("files", 1)
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files).parquet(job["rows"])
    asked = job["query"]
    made = sk.workload(asked) if isinstance(asked, dict) else sk.query(asked)
    found = made.run(rows.withWatermark("time", "10 seconds"))
    write = found.writeStream.format("parquet").option("checkpointLocation", job["checkpoint"])
    try:
        query = write.trigger(availableNow=True).start(job["sink"])
        query.awaitTermination()
    except (PySparkException, Py4JJavaError, sk.SparkleeneError) as error:
        return str(error)
    return None


def main(arguments: dict[str, Any]) -> None:
    """Run the jobs of the standard input, one after the other."""
    spark = session("sparkleene faults", memory="1g", config=SETTINGS, **arguments)
    for line in sys.stdin:
        print("done", json.dumps(run(spark, json.loads(line))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
