"""The papers' figures as experiments with the same axes, and how our time grows: what is asked, and of whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from benchmarks import workloads
from benchmarks.streams import generated, letters, with_groups, with_selectivity

Texts = dict[str, str]
Ask = Callable[[int], tuple[Texts, pa.Table]]
OURS = "Sparkleene"
K, M = 1_000, 1_000_000


@dataclass(frozen=True)
class Experiment:
    """One figure: `ask` returns queries and a stream for a value of x; `full` goes on where `quick` ends."""

    name: str
    figure: str  # what it is in the paper
    axis: str  # what x is
    ask: Ask
    quick: tuple[int, ...]
    full: tuple[int, ...]
    systems: tuple[str, ...]
    says: str  # one sentence
    easier: bool = False  # whether a larger x is less work
    threads: int = 1  # 0: x is their number

    def values(self, full: bool) -> tuple[int, ...]:
        """Return the values of x, from little work to much."""
        found = sorted({*self.quick, *(self.full if full else ())})
        return tuple(reversed(found)) if self.easier else tuple(found)


def one(text: str, table: pa.Table) -> tuple[Texts, pa.Table]:
    """Return a question of one query."""
    return {"q": " ".join(text.split())}, table


# ---- COGRA


def activity(semantics: str, events: int) -> tuple[Texts, pa.Table]:
    """Ask q4 of appendix A."""
    text = f"""RETURN patient, COUNT(*) PATTERN SEQ(Activity S, Activity A+, Activity F) SEMANTICS {semantics}
        WHERE [patient] AND S.rate < 60 AND F.rate > 100 AND A.kind = passive GROUP-BY patient"""
    return one(text, generated("activity", events, ("type", "patient", "kind", "rate")))


def stock(events: int, companies: int = 3000) -> tuple[Texts, pa.Table]:
    """Ask q3 of section 1 without its comparison."""
    text = """RETURN company, COUNT(*) PATTERN Stock S+ SEMANTICS skip-till-any-match
        WHERE [company] GROUP-BY company"""
    return one(text, with_groups(generated("stock", events, ("type",)), "company", companies))


def rides(semantics: str, events: int) -> tuple[Texts, pa.Table]:
    """Ask q2 of section 1."""
    text = f"""RETURN district, COUNT(*) PATTERN SEQ(Pickup P, Trip T+, Dropoff D) SEMANTICS {semantics}
        WHERE [driver, district] GROUP-BY district"""
    return one(text, generated("rides", events, ("type", "driver", "district")))


def ride_groups(groups: int, events: int = 50 * K) -> tuple[Texts, pa.Table]:
    """Ask q2 under skip-till-any-match, of so many groups."""
    text = """RETURN area, COUNT(*) PATTERN SEQ(Pickup P, Trip T+, Dropoff D) SEMANTICS skip-till-any-match
        WHERE [area] GROUP-BY area"""
    return one(text, with_groups(generated("rides", events, ("type",)), "area", groups))


def selectivity(stream: str, kind: str, groups: int, events: int, percent: int) -> tuple[Texts, pa.Table]:
    """Ask for trends with a comparison of neighbours that holds so often."""
    text = f"""RETURN key, COUNT(*) PATTERN {kind} S+ SEMANTICS skip-till-any-match
        WHERE [key] AND S.a < NEXT(S).b GROUP-BY key"""
    table = with_groups(generated(stream, events, ("type",)), "key", groups)
    return one(text, with_selectivity(table, percent))


ANY = ("two-step", "flattened", "event graph", "per window", OURS)
STRICT = ("two-step", "event graph", "per window", OURS)
EVENTS = "events per window"
STEPS = (10 * K, 100 * K, M)
COMPARED = ("two-step", "event graph", OURS)
COGRA = (
    Experiment(
        "cogra-05", "COGRA, figure 5", EVENTS, partial(activity, "skip-till-any-match"),
        (100, 300, 1 * K, 10 * K, 100 * K), (30 * K, M, 10 * M), ANY,
        "Heart rates of 14 people under skip-till-any-match.",
    ),
    Experiment(
        "cogra-06", "COGRA, figure 6", EVENTS, partial(activity, "skip-till-next-match"),
        (1 * K, *STEPS), (10 * M,), STRICT, "The same under skip-till-next-match.",
    ),
    Experiment(
        "cogra-07", "COGRA, figure 7", EVENTS, partial(activity, "contiguous"),
        (1 * K, *STEPS), (10 * M,), STRICT, "The same, contiguous.",
    ),
    Experiment(
        "cogra-08", "COGRA, figure 8", EVENTS, stock, (10 * K, 20 * K, 40 * K, 60 * K), (30 * K, 100 * K), ANY,
        "Trades of 3,000 companies under skip-till-any-match, few events.",
    ),
    Experiment(
        "cogra-09", "COGRA, figure 9", EVENTS, partial(rides, "skip-till-next-match"),
        (10 * K, 100 * K, M), (10 * M,), STRICT, "Rides under skip-till-next-match.",
    ),
    Experiment(
        "cogra-10", "COGRA, figure 10", EVENTS, partial(stock, companies=10), (*STEPS, 10 * M), (100 * M,),
        ("flattened", "event graph", "per window", OURS),
        "Trades of 10 companies under skip-till-any-match, up to 100 million events in one window.",
    ),
    Experiment(
        "cogra-11", "COGRA, figure 11", EVENTS, partial(rides, "contiguous"),
        (10 * K, 100 * K, M), (10 * M,), STRICT, "Rides, contiguous.",
    ),
    Experiment(
        "cogra-12", "COGRA, figure 12", "groups", ride_groups, (1_000, 3_000, 30, 5), (10_000, 300, 100, 1), ANY,
        "50,000 rides in more and fewer groups, skip-till-any-match.", easier=True,
    ),
    Experiment(
        "cogra-13", "COGRA, figure 13", "percent of neighbours that fit",
        partial(selectivity, "stock", "Stock", 3000, 50 * K), (10, 50, 90), (30, 70), COMPARED,
        "50,000 trades of 3,000 companies with a comparison that holds more or less often.",
    ),
)  # fmt: skip

# ---- GRETA


def falling(negation: bool, events: int) -> tuple[Texts, pa.Table]:
    """Ask Q1 of section 1, of 10 companies, and without trends after a halt."""
    table = with_groups(generated("stock", events, ("type", "price")), "company", 10)
    pattern = "Stock S+"
    if negation:
        pattern = "SEQ(NOT Halt H, Stock S+)"
        types = ["Halt" if number % 997 == 996 else "Stock" for number in range(events)]
        table = table.set_column(1, "type", pa.array(types).dictionary_encode())
    text = f"""RETURN company, COUNT(*) PATTERN {pattern}
        WHERE [company] AND S.price > NEXT(S).price GROUP-BY company"""
    return one(text, table)


def cluster(groups: int, events: int = 100 * K) -> tuple[Texts, pa.Table]:
    """Ask Q2 of section 1, of so many groups."""
    text = """RETURN key, COUNT(*) PATTERN SEQ(Start S, Measurement M+, End E)
        WHERE [key] AND M.load < NEXT(M).load GROUP-BY key"""
    return one(text, with_groups(generated("cluster", events, ("type", "load")), "key", groups))


GRETA = (
    Experiment(
        "greta-14", "GRETA, figure 14", EVENTS, partial(falling, False), (200, 10 * K, 50 * K, 200 * K), (M, 5 * M),
        COMPARED, "Falling prices of 10 companies.",
    ),
    Experiment(
        "greta-15", "GRETA, figure 15", EVENTS, partial(falling, True), (200, 10 * K, 50 * K, 200 * K), (M, 5 * M),
        COMPARED, "The same with a negative sub-pattern: not after a halt.",
    ),
    Experiment(
        "greta-16", "GRETA, figure 16", "percent of neighbours that fit",
        partial(selectivity, "traffic", "Position", 5000, 100 * K), (10, 50, 90), (30, 70), COMPARED,
        "100,000 positions of 5,000 cars with a comparison that holds more or less often.",
    ),
    Experiment(
        "greta-17", "GRETA, figure 17", "groups", cluster, (10_000, 1_000, 50, 5), (100_000, 300, 10), COMPARED,
        "100,000 measurements of a cluster in more and fewer groups.", easier=True,
    ),
)  # fmt: skip

# ---- A-Seq


def sequence(length: int, window: int, negated: bool = False, events: int = 100 * K) -> tuple[Texts, pa.Table]:
    """Ask for a sequence of so many types in so many milliseconds before each trigger; an event a millisecond."""
    parts = [f"T{number}" for number in range(length)]
    if negated:
        parts.insert(2, f"NOT T{length}")
    text = f"RETURN COUNT(*) PATTERN SEQ({', '.join(parts)}) WITHIN {window} milliseconds"
    return one(text, letters(events, 20, gap=1000))


def sequences(queries: int, window: int = 200, events: int = 100 * K) -> tuple[Texts, pa.Table]:
    """Ask for so many sequences with a substring in common."""
    texts = {
        f"q{number}": f"RETURN COUNT(*) PATTERN SEQ(T{number + 3}, T0, T1, T2) WITHIN {window} milliseconds"
        for number in range(queries)
    }
    return texts, letters(events, 20, gap=1000)


TRIGGERED = ("sequences built", "prefix counts", OURS)
ASEQ = (
    Experiment(
        "aseq-12", "A-Seq, figure 12", "length of the pattern", lambda x: sequence(x, 400), (2, 3, 4, 5), (),
        TRIGGERED, "Sequences of 2 to 5 types within 400 ms before each last event.",
    ),
    Experiment(
        "aseq-13", "A-Seq, figure 13", "window, ms", lambda x: sequence(3, x), (100, 300, 1000), (200, 500, 700),
        TRIGGERED, "Sequences of 3 types within larger windows.",
    ),
    Experiment(
        "aseq-14a", "A-Seq, figure 14 (a)", "length of the pattern", lambda x: sequence(x, 2000), (6, 8, 10),
        (7, 9), ("prefix counts", OURS), "Long sequences within 2 seconds.",
    ),
    Experiment(
        "aseq-14b", "A-Seq, figure 14 (b)", "window, ms", lambda x: sequence(3, x, negated=True), (100, 300, 1000),
        (200, 500, 700), TRIGGERED, "Sequences of 3 types with a negated one between.",
    ),
    Experiment(
        "aseq-15", "A-Seq, figure 15", "window, ms", lambda x: sequences(3, x), (100, 200, 500), (300, 1000),
        ("sequences built", "prefix counts", "one by one", OURS), "Three sequences with a substring in common.",
    ),
    Experiment(
        "aseq-16", "A-Seq, figure 16", "queries", sequences, (1, 4, 16), (2, 8, 12),
        ("prefix counts", "one by one", OURS), "More sequences with a substring in common.",
    ),
)  # fmt: skip

# ---- HAMLET


def published(queries: int, events: int) -> tuple[Texts, pa.Table]:
    """Ask queries like those published, over a stream like the one published."""
    table = workloads.stream(events)
    return workloads.queries(queries), table


def bursty(queries: int, events: int) -> tuple[Texts, pa.Table]:
    """Ask queries with a common sub-pattern of two types, over bursts of 2 to 120 events."""
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, (SEQ(T, U))+, E)" for i in range(queries)}
    return texts, workloads.phases(-(-events // 3))["all"].slice(0, events)


EACH = ("two-step", "flattened", "event graph", "one by one", OURS)
DECISIONS = ("one by one", "always shared", OURS)
HAMLET = (
    Experiment(
        "hamlet-08a", "HAMLET, figures 8 and 9", "events", lambda x: published(10, x), (100, 1 * K, 10 * K, 20 * K),
        (5 * K, 15 * K), EACH, "Ten queries with a Kleene sub-pattern in common, rides in bursts.",
    ),
    Experiment(
        "hamlet-08b", "HAMLET, figures 8 and 9, by queries", "queries", lambda x: published(x, 2 * K), (5, 15, 25),
        (10, 20), EACH[1:], "5 to 25 queries over 2,000 events.",
    ),
    Experiment(
        "hamlet-10a", "HAMLET, figure 10", "events", lambda x: published(50, x), (1 * K, 10 * K, 100 * K), (M,),
        ("event graph", "one by one", OURS), "Fifty queries over more events.",
    ),
    Experiment(
        "hamlet-10b", "HAMLET, figure 10, by queries", "queries", lambda x: published(x, 20 * K), (10, 30, 50),
        (20, 40, 100), ("event graph", "one by one", OURS), "10 to 50 queries over 20,000 events.",
    ),
    Experiment(
        "hamlet-11a", "HAMLET, figures 11 and 12", "events", lambda x: bursty(50, x), (30 * K, 100 * K, 300 * K),
        (M, 3 * M), DECISIONS, "Sharing decided for each burst, against always and never.",
    ),
    Experiment(
        "hamlet-11b", "HAMLET, figures 11 and 12, by queries", "queries", lambda x: bursty(x, 100 * K), (20, 50),
        (35, 80), DECISIONS, "The same with 20 to 100 queries, of which 50 have events.",
    ),
)  # fmt: skip

# ---- how our time grows


def kleene(events: int, window: str = "") -> tuple[Texts, pa.Table]:
    """Ask (SEQ(A+, B))+ of one sub-stream, an event a second."""
    return one(f"RETURN COUNT(*) PATTERN (SEQ(T0+, T1))+ {window}", letters(events, 3))


def compared(events: int) -> tuple[Texts, pa.Table]:
    """Ask for trends with a comparison that holds for half of the pairs, of one sub-stream."""
    text = "RETURN COUNT(*) PATTERN T0 S+ WHERE S.a < NEXT(S).b"
    return one(text, with_selectivity(letters(events, 1), 50))


def states(count: int, events: int = M) -> tuple[Texts, pa.Table]:
    """Ask for a sequence of so many types, each repeated."""
    parts = ", ".join(f"T{number}+" for number in range(count))
    return one(f"RETURN COUNT(*) PATTERN SEQ({parts})", letters(events, 20))


def grouped(groups: int, events: int = 2 * M) -> tuple[Texts, pa.Table]:
    """Ask SEQ(A+, B) of so many groups."""
    text = "RETURN key, COUNT(*) PATTERN SEQ(T0+, T1) WHERE [key] GROUP-BY key"
    return one(text, with_groups(letters(events, 3), "key", groups))


def overlap(count: int, events: int = 500 * K) -> tuple[Texts, pa.Table]:
    """Ask (SEQ(A+, B))+ in windows of ten hours of which so many overlap."""
    return kleene(events, f"WITHIN 36000 seconds SLIDE {36000 // count} seconds")


SCALING = (
    Experiment(
        "scaling-events", "", "events", kleene, (100 * K, M, 10 * M), (100 * M,), (OURS,),
        "`(SEQ(A+, B))+`, one window.",
    ),
    Experiment(
        "scaling-compared", "", "events", compared, (10 * K, 100 * K, M), (10 * M,), (OURS,),
        "A comparison of neighbours, one window.",
    ),
    Experiment(
        "scaling-overlap", "", "windows that overlap", overlap, (1, 10, 100, 600), (3, 30, 300),
        ("per window", OURS), "`(SEQ(A+, B))+` over 500,000 events.",
    ),
    Experiment(
        "scaling-states", "", "states", states, (1, 5, 20), (2, 10), (OURS,),
        "Sequences of repeated types, 1 million events.",
    ),
    Experiment(
        "scaling-groups", "", "groups", grouped, (1, 100, 10 * K, M), (10, 1 * K, 100 * K), (OURS,),
        "`SEQ(A+, B)` over 2 million events.",
    ),
    Experiment(
        "scaling-queries", "", "queries", lambda x: published(x, 10 * K), (1, 10, 100), (3, 30, 300, 1000),
        ("one by one", OURS), "Queries like those published with HAMLET, 10,000 events.",
    ),
    Experiment(
        "scaling-cores", "", "threads", lambda x: kleene(20 * M), (1, 2), (), (OURS,),
        "`(SEQ(A+, B))+`, one window of 20 million.", threads=0,
    ),
)  # fmt: skip

EXPERIMENTS = {each.name: each for each in (*COGRA, *GRETA, *ASEQ, *HAMLET, *SCALING)}
