# %% [markdown]
# # Pooled rides that are slow (HAMLET, 2021, q2 and one like q3)
#
# Two questions about the same rides: how fast are pooled rides that end well, and how many rides with slow
# reports are cancelled? The pattern has a Kleene plus over Travel in both, under skip-till-any-match.

# %%
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).parents[1]))

import streams

import sparkleene as sk
from sparkleene.spark.session import session

spark = session()

# %% [markdown]
# ## The stream
#
# Rides with the names that the paper has: the event's type is in `event`, since `type` is the kind of request.

# %%
rides = streams.rides(10_000)
names = {"Pickup": "Request", "Trip": "Travel"}
kinds = [names.get(kind, kind) for kind in rides["type"].to_pylist()]
pool = ["Pool" if rider % 3 else "Solo" for rider in rides["rider"].to_pylist()]
rides = rides.drop_columns("type").append_column("event", pa.array(kinds))
request = pa.array(pool, mask=np.array(kinds) != "Request")
events = spark.createDataFrame(rides.append_column("type", request))
events.show(5, truncate=False)

# %% [markdown]
# ## The queries
#
# The first is printed in the paper. The second is the paper's q3 with another limit on the speed, for these
# rides are faster, and with the windows of the first, so that the results can be joined.

# %%
pooled = sk.query(
    """
    RETURN T.district, COUNT(*), AVG(T.speed)
    PATTERN SEQ(Request R, Travel T+, Dropoff D)
    WHERE [driver, rider] AND R.type=Pool GROUP-BY T.district
    WITHIN 30 min SLIDE 5 min""",
    type="event",
)
cancelled = sk.query(
    """
    RETURN T.district, COUNT(*), AVG(T.speed)
    PATTERN SEQ(Request R, Travel T+, Cancel C)
    WHERE [driver, rider] AND T.speed<25 GROUP-BY T.district
    WITHIN 30 min SLIDE 5 min""",
    type="event",
)
good = pooled.run(events).cache()
bad = cancelled.run(events).withColumnsRenamed({"count": "cancelled", "avg_T_speed": "speed then"})
both = good.join(bad, ["window_start", "window_end", "district"], "left")
shown = both.where("minute(window_start) = 0 AND district IN ('centre', 'west')").select(
    F.date_format("window_start", "HH:mm").alias("from"),
    "district",
    F.col("count").cast("long").alias("pooled"),
    F.round("avg_T_speed", 1).alias("speed"),
    F.coalesce("cancelled", F.lit(0)).cast("long").alias("cancelled"),
    F.round("speed then", 1).alias("speed then"),
)
shown.orderBy("from", "district").show(truncate=False)

# %% [markdown]
# A trend is any choice of Travel reports of a ride, so a ride of fifteen reports weighs 32,767 trends: long rides
# have most of the say. Trends of slow reports before a Cancel are there around noon, when all rides are slow, and
# fewer in the west, where few reports are below 25.

# %%
total = good.agg(F.sum("count").alias("trends")).first()
assert total is not None
print(f"{total['trends']:,.0f} trends of pooled rides in all windows.\n")

# %% [markdown]
# ## How Spark evaluates the first
#
# The conditions on a single event are part of what Spark reads: other rows never reach Python.

# %%
print(pooled.explain(events).partition("\nSpark\n")[2] + "\n")

# %% [markdown]
# ## The trends behind one number
#
# A ride with one report has one trend, with two reports three, with three reports seven.

# %%
few = good.where("count BETWEEN 6 AND 12").orderBy("window_start", "district").first()
assert few is not None
place = (F.col("district") == few["district"]) & (F.col("time") < few["window_end"])
behind = events.where(place).where(F.col("time") >= few["window_start"])
told = "transform(events, e -> concat(e.label, ' ', date_format(e.time, 'HH:mm:ss')))"
found = pooled.trends(behind, limit=None).where(F.col("window_start") == few["window_start"])
print(f"{few['district']}, {few['window_start']:%H:%M} to {few['window_end']:%H:%M}: {few['count']:.0f} trends")
found.select(F.array_join(F.expr(told), ", ").alias("trend")).show(truncate=False)
