# %% [markdown]
# # Files by path, explain and trends (GRETA, 2017, Q3)
#
# Cars that slow down on a segment before any accident there. The stream is a folder of Parquet files, and tasks
# read them with Arrow by themselves: with `engine="spark"` no row goes through Spark's JVM.

# %%
from __future__ import annotations

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).parents[1]))

import streams

import sparkleene as sk
from sparkleene.spark.session import session

spark = session()

# %% [markdown]
# ## The files
#
# Six files, one after the other in time, each of two row groups.

# %%
road = streams.road(20_000)
kept = tempfile.TemporaryDirectory()
folder = Path(kept.name, "road")
folder.mkdir()
size = -(-road.num_rows // 6)
for part in range(6):
    pq.write_table(road.slice(part * size, size), folder / f"{part}.parquet", row_group_size=-(-size // 2))
print(f"{road.num_rows:,} events in {len(list(folder.iterdir()))} files\n")

# %% [markdown]
# ## The query, as the paper prints it

# %%
q = sk.query("""
    RETURN segment, COUNT(*), AVG(P.speed)
    PATTERN SEQ(NOT Accident A, Position P+)
    WHERE [P.vehicle,segment] AND P.speed > NEXT(P).speed
    GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute""")
result = q.run(folder, engine="spark").cache()
accident = spark.read.parquet(str(folder)).where("type = 'Accident'").orderBy("time").collect()[4]
around = [accident["time"] + timedelta(minutes=minutes) for minutes in (-7, 7)]
near = result.where(F.col("segment") == accident["segment"]).where(F.col("window_start").between(*around))
print(f"Around the accident on segment {accident['segment']} at {accident['time']:%H:%M:%S}:")
near.select(
    F.date_format("window_start", "HH:mm").alias("from"),
    F.date_format("window_end", "HH:mm").alias("to"),
    F.format_number("count", 0).alias("trends"),
    F.round("avg_P_speed", 1).alias("speed"),
).orderBy("from").show(truncate=False)

# %% [markdown]
# Before the accident almost every report of a car is slower than the one before, so that windows hold many more
# trends than usual, at ever lower speeds. A window that holds the accident counts only trends that began before it:
# the number falls with each window until the accident has left.

# %% [markdown]
# ## How Spark evaluates it
#
# The query compares neighbours, so the rows of a segment have to meet in one task.

# %%
print(q.explain(folder, engine="spark").partition("\nSpark\n")[2] + "\n")

# %% [markdown]
# Where nothing is compared, tasks need not exchange rows if the files follow each other in time: each turns what it
# reads into small matrices, and those are multiplied in order of time. Row groups that hold no Accident, as the
# statistics in the files tell, are not read at all.

# %%
pairs = sk.query("RETURN COUNT(*) PATTERN SEQ(Accident A, Accident B) WITHIN 1 hour SLIDE 1 hour")
print(pairs.explain(folder, engine="spark").partition("\nSpark\n")[2] + "\n")
pairs.run(folder, engine="spark").orderBy("window_start").show(truncate=False)

# %% [markdown]
# ## The trends behind one number
#
# Of the first trends in the data, those with three reports or more.

# %%
first = q.trends(folder, limit=200, engine="spark").where("size(events) >= 3").limit(5)
told = "transform(events, e -> concat(date_format(e.time, 'HH:mm:ss'), ' ', e.speed))"
first.select(
    F.date_format("window_start", "HH:mm").alias("from"),
    "segment",
    F.array_join(F.expr(told), ", ").alias("slowing down"),
).show(truncate=False)

# %%
result.unpersist()
kept.cleanup()
