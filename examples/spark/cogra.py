# %% [markdown]
# # Rides (COGRA, 2019, q2)
#
# How many rides end in each district in half an hour, and how fast do they go? A ride is a Pickup, then every
# Trip report of the same driver and rider, then a Dropoff: skip-till-next-match leaves none of them out.

# %%
from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).parents[1]))

import streams

import sparkleene as sk
from sparkleene.spark.session import session

spark = session()

# %% [markdown]
# ## The stream
#
# A Trip report a minute with the speed. One ride in ten is cancelled.

# %%
rides = spark.createDataFrame(streams.rides(10_000))
rides.show(5, truncate=False)

# %% [markdown]
# ## The query, as the paper prints it

# %%
q = sk.query("""
    RETURN district, COUNT(*), AVG(T.speed) PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
    SEMANTICS skip-till-next-match WHERE [driver, rider, district] GROUP-BY district
    WITHIN 30 minutes SLIDE 1 minute""")
result = q.run(rides).cache()
hours = result.where("minute(window_start) = 0").groupBy("window_start")
cells = F.first(F.concat_ws(" at ", F.col("count").cast("int"), F.format_number("avg_T_speed", 1)))
hours.pivot("district", list(streams.DISTRICTS)).agg(cells).orderBy("window_start").show(truncate=False)

# %% [markdown]
# A cell says how many rides lie in the half hour and their average speed. Rides get slower in all districts until
# the early afternoon and then faster again, and those in the west are the fastest. Under the default semantics a
# ride of ten reports would count 1,023 times; here it counts once.

# %%
mean = F.avg("avg_T_speed").alias("speed")
fastest = result.groupBy("district").agg(mean).orderBy(F.desc("speed")).first()
assert fastest is not None
print(f"The fastest rides are in the {fastest['district']}: {fastest['speed']:.1f} km/h.\n")

# %% [markdown]
# ## How Spark evaluates it

# %%
print(q.explain(rides).partition("\nSpark\n")[2] + "\n")

# %% [markdown]
# ## The rides behind one number

# %%
some = result.where("count = 3").orderBy("window_start", "district").first()
assert some is not None
behind = (
    rides.where(F.col("district") == some["district"])
    .where(F.col("time") >= some["window_start"])
    .where(F.col("time") < some["window_end"])
)
found = q.trends(behind, limit=None).where(F.col("window_start") == some["window_start"])
print(f"{some['district']}, {some['window_start']:%H:%M} to {some['window_end']:%H:%M}: {some['count']:.0f} rides")
found.select(
    F.expr("events[0].rider").alias("rider"),
    F.expr("date_format(events[0].time, 'HH:mm:ss')").alias("pickup"),
    F.expr("date_format(element_at(events, -1).time, 'HH:mm:ss')").alias("dropoff"),
    F.array_join(F.expr("filter(events.speed, s -> s IS NOT NULL)"), " ").alias("speeds"),
).show(truncate=False)
