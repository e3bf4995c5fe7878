# %% [markdown]
# # Falling prices, live
#
# A stream of prices comes out of order, and each window's row is written once, when the watermark has passed the
# window's end. Afterwards the same events are counted as a batch: the rows are the same.

# %%
from __future__ import annotations

import tempfile
from pathlib import Path

import sparkleene as sk
from sparkleene.spark.session import session

spark = session()
sk.spark.register(spark)  # the replay source

# %% [markdown]
# ## The stream
#
# 60,000 prices of 19 companies, played as fast as it goes in batches of 10,000. Prices come up to two seconds after
# others that are later, and one in a thousand comes much later than that.

# %%
events = {"generate": "stock", "events": 60_000, "generate.rate": 2_000, "generate.groups": 19}
played = spark.readStream.format("sparkleene.replay").options(
    **events, disorder="2 seconds", late=0.001, rowsPerBatch=10_000
)
prices = played.load().withWatermark("time", "2 seconds")

# %% [markdown]
# ## The query
#
# How many falling trends of prices does each company have in five seconds? A falling trend may skip prices.

# %%
q = sk.query("""
    falling: RETURN company, COUNT(*) PATTERN Stock S+
    WHERE [company] AND S.price > NEXT(S).price
    GROUP-BY company WITHIN 5 seconds SLIDE 5 seconds""")
with tempfile.TemporaryDirectory() as folder:
    rows, checkpoint = str(Path(folder) / "rows"), str(Path(folder) / "checkpoint")
    writer = q.run(prices).writeStream.format("parquet").option("checkpointLocation", checkpoint)
    running = writer.trigger(availableNow=True).start(rows)
    running.awaitTermination()
    streamed = spark.read.parquet(rows).toArrow()

for progress in running.recentProgress[:3]:
    late = progress.observedMetrics["sparkleene falling"].late_rows
    print(f"batch {progress.batchId}: {progress.numInputRows} prices, {late} late")
ends = streamed.column("window_end").to_pylist()
print(f"{streamed.num_rows} rows of windows up to {max(ends):%H:%M:%S}")

# %% [markdown]
# ## The same events as a batch
#
# A window that had a late row may differ by it. All others have to be the same.

# %%
table = spark.read.format("sparkleene.replay").options(**events).load()
batch = {(row["window_end"], row["company"]): row["count"] for row in q.run(table).toArrow().to_pylist()}
live = {(row["window_end"], row["company"]): row["count"] for row in streamed.to_pylist()}
last = max(end for end, _ in live)
wanted = {key: count for key, count in batch.items() if key[0] <= last}
alike = sum(live[key] == count for key, count in wanted.items())
dropped = sum(p.observedMetrics["sparkleene falling"].late_rows for p in running.recentProgress)
print(f"{len(live)} rows live, {len(wanted)} as a batch; {dropped} late prices, {len(wanted) - alike} rows differ")
assert live.keys() == wanted.keys() and len(wanted) - alike <= dropped
