# %% [markdown]
# # Failed logins (A-Seq, 2014, application I)
#
# A person types a user name and a password and clicks on Submit. How often did that happen with a wrong password,
# from the same IP, in the ten seconds before each click? `WITHIN 10s` alone makes a window end at every event
# that can complete the sequence.

# %%
from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

import sparkleene as sk
from sparkleene.spark.session import session

spark = session()

# %% [markdown]
# ## The stream
#
# 60 people log in now and then and mistype one password in ten. Somebody at 10.0.0.99 tries a password a second.

# %%
TYPES = ("TypeUsername", "TypePassword", "ClickSubmit")
rng = np.random.default_rng(4)
rows = []
for _ in range(1500):
    begin, ip = rng.random() * 3600, f"10.0.0.{rng.integers(1, 61)}"
    rows += [(begin + 2 * step, TYPES[step], ip, bool(rng.random() < 0.1)) for step in range(3)]
rows.append((1800.0, "TypeUsername", "10.0.0.99", False))
for second in range(1, 9):
    rows += [
        (1800.0 + second, "TypePassword", "10.0.0.99", True),
        (1800.5 + second, "ClickSubmit", "10.0.0.99", False),
    ]
rows.sort()
seconds, types, ips, wrong = zip(*rows, strict=True)
start = np.datetime64(datetime(2024, 3, 4, 9), "ms")
typed = ["letmein" if guess else "secret" for guess in wrong]
stream = pa.table(
    {
        "time": start + (np.array(seconds) * 1000).astype("timedelta64[ms]"),
        "type": types,
        "IP": ips,
        "Password": ["secret" if kind == "TypeUsername" else None for kind in types],
        "value": [text if kind == "TypePassword" else None for kind, text in zip(types, typed, strict=True)],
    }
)
events = spark.createDataFrame(stream)
events.show(5, truncate=False)

# %% [markdown]
# ## The query, as the paper prints it

# %%
q = sk.query("""
    PATTERN <SEQ(TypeUsername, TypePassword, ClickSubmit)>
    WHERE <TypePassword.value != TypeUsername.Password>
    GROUP BY <IP>
    [AGG COUNT] [WITHIN 10s]""")
result = q.run(events).cache()
worst = result.groupBy("IP").agg(F.max("count").alias("most"), F.count("*").alias("windows"))
worst.orderBy(F.desc("most"), F.desc("windows"), "IP").show(5)

# %% [markdown]
# Whoever guesses stands out: every wrong password makes a sequence with each click after it, so that eight guesses
# make 8 + 7 + ... + 1 = 36 of them. People who mistype a password have four at most, even where two of them share
# an IP. So a limit on the count tells guesses from errors.

# %%
first = worst.orderBy(F.desc("most")).first()
assert first is not None
print(f"{first['IP']} has {first['most']:.0f} sequences with a wrong password in ten seconds.\n")

# %% [markdown]
# ## How Spark evaluates it

# %%
print(q.explain(events).partition("\nSpark\n")[2] + "\n")

# %% [markdown]
# ## The sequences behind one number
#
# In the window of its second click 10.0.0.99 has three: one until the first click, two until the second.

# %%
click = result.where("IP = '10.0.0.99' AND count = 3").orderBy("window_end").first()
assert click is not None
behind = events.where(F.col("IP") == click["IP"]).where(F.col("time") <= click["window_end"])
told = "transform(events, e -> concat(date_format(e.time, 'HH:mm:ss.S'), ' ', e.label))"
found = q.trends(behind, limit=None).where(F.col("window_end") == click["window_end"])
found.select("IP", F.array_join(F.expr(told), ", ").alias("sequence")).show(truncate=False)
