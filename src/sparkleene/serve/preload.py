"""What the process does that others are copies of: import everything, and answer questions, before it is copied.

A copy then answers at once. What runs here uses one thread and ends before the first copy; Arrow makes its own
threads anew in each.
"""

from __future__ import annotations

from sparkleene.engine import trends, why
from sparkleene.generators import generate
from sparkleene.query import query
from sparkleene.serve import details, live, many, queries
from sparkleene.serve.examples import EXAMPLES
from sparkleene.workload import workload

USED = (details, live, many, queries, trends, why, workload)


def answer_examples() -> None:
    """Answer the questions of the examples over a few events."""
    for example in EXAMPLES:
        if example["mode"] in ("query", "live"):
            q = query(example["text"])
            q.to_svg()
            q.explain()
            q.run(generate(example["data"]["name"].partition(":")[2], 200), threads=1)


answer_examples()
