# %% [markdown]
# # Falling prices (GRETA, 2017, Q1)
#
# How many down trends of a company does each sector have in ten minutes? A down trend may skip prices, so ten
# falling prices in a row alone hold 1,023 of them. None is built.

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
# 50 companies in 5 sectors, a trading day. Each sector has an hour in which its prices slide.

# %%
prices = spark.createDataFrame(streams.stocks(20_000))
prices.show(5, truncate=False)

# %% [markdown]
# ## The query, as the paper prints it
#
# All rows are of one type, so no column says so: `type=None`.

# %%
q = sk.query(
    """
    RETURN sector, COUNT(*) PATTERN Stock S+
    WHERE [company,sector] AND S.price > NEXT(S).price
    GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds""",
    type=None,
)
result = q.run(prices).cache()
half_past = result.where("minute(window_start) = 30 AND second(window_start) = 0").groupBy("window_start")
cells = F.format_number(F.first("count"), 0)
by_sector = half_past.pivot("sector", list(streams.SECTORS)).agg(cells)
by_sector.orderBy("window_start").show(truncate=False)

# %% [markdown]
# A window usually has some thousand down trends in a sector. In the hour in which a sector slides it
# has many times as many, since almost every price can follow every earlier one.

# %%
most = result.orderBy(F.desc("count")).first()
assert most is not None
print(f"Most are in {most['sector']} from {most['window_start']:%H:%M:%S}: {most['count']:,.0f} down trends.\n")

# %% [markdown]
# ## How Spark evaluates it
#
# Prices of a company meet in one task; the companies of a sector are then added up.

# %%
print(q.explain(prices).partition("\nSpark\n")[2] + "\n")

# %% [markdown]
# ## The trends behind one number
#
# The first windows hold only a few prices, so that all trends can be read.

# %%
few = result.where("count BETWEEN 12 AND 20").orderBy("window_start", "sector").first()
assert few is not None
behind = prices.where(F.col("sector") == few["sector"]).where(F.col("time") < few["window_end"])
told = "transform(events, e -> concat(e.company, ' ', e.price))"
found = q.trends(behind, limit=None).where(F.col("window_start") == few["window_start"])
print(f"{few['sector']}, {few['window_start']:%H:%M:%S} to {few['window_end']:%H:%M:%S}: {few['count']:.0f}")
found.select(F.array_join(F.expr(told), ", ").alias("down trend")).show(truncate=False)
