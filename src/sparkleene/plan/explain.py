"""Say in text how a query is evaluated: its automaton, predicates, storage, windows and cost.

`Plan` is the same as data; everything here is read off it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sparkleene.language.ast import Pattern, Ref, Repeat, Semantics
from sparkleene.language.bound import Finish, Literal_, Measure, Output, Term, Window
from sparkleene.language.printer import expr_to_text, pattern_to_text
from sparkleene.language.trees import walk_pattern
from sparkleene.plan.aggregates import SPREADS
from sparkleene.plan.explain_whole import explain_whole, worst_choice
from sparkleene.plan.explain_windows import count_overlap, explain_window
from sparkleene.plan.machine import START, State
from sparkleene.plan.needed_columns import needed_columns
from sparkleene.plan.physical import COMPLEXITY, Search
from sparkleene.plan.plan import Plan
from sparkleene.plan.positions import Guards, Positions
from sparkleene.plan.text import (
    attribute,
    comparison_to_text,
    count,
    measure_to_text,
    names,
    output_to_text,
    shown_name,
    table,
    term_to_text,
)

MOST_STATES = 16  # that are listed

MEANING: dict[Semantics, str] = {
    "skip-till-any-match": "any events may lie between two neighbours of a trend",
    "skip-till-next-match": "no event that could extend a trend is skipped",
    "contiguous": "no event at all lies between two neighbours of a trend",
}
BOUNDS = ("O(n)", "O(n log n)", "O(n log^2 n)", "O(n^2)")  # from best to worst

Rows = Iterator[tuple[str, ...]]


@dataclass(frozen=True)
class Reading:
    """How the table's columns are read and how numbers are kept."""

    time: str = "time"
    type: str | None = "type"
    tiebreak: str | None = None
    numbers: str = "double"
    offset: str | None = None
    zone: str = "UTC"
    clocks_change: bool = False  # whether days of the zone are not all of 24 hours


def explain(
    plan: Plan,
    text: str,
    reading: Reading | None = None,
    more: Mapping[str, Iterable[tuple[str, ...]]] | None = None,
) -> str:
    """Return how the planned query of this text is evaluated; `more` are sections that others know."""
    explainer = _Explainer(plan, reading or Reading())
    sections = {
        "Query": text.splitlines(),
        "Matching": table(explainer.matching()),
        "Labels": table(explainer.labels()),
        f"Automaton of {count(explainer.q, 'state')}": explainer.automaton(),
        "Sub-streams": table(explainer.substreams()),
        "Predicates": table([*explainer.predicates(), *explain_whole(plan)]),
        f"Granularity: {plan.overall}": explainer.storage(),
        "Window": table(explainer.window()),
        "Result": table(explainer.result()),
        "Cost": table(explainer.cost()),
    }
    sections |= {title: table(rows) for title, rows in (more or {}).items()}
    return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items())


class _Explainer:
    def __init__(self, plan: Plan, reading: Reading) -> None:
        self.plan, self.reading = plan, reading
        self.bound, self.machine, self.physical = plan.bound, plan.machine, plan.physical
        self.q = len(plan.machine.states)

    # ---- what is matched

    def matching(self) -> Rows:
        semantics = self.bound.semantics
        yield "semantics", f"{semantics}: {MEANING[semantics]}"
        if len(self.machine.operands) > 1:
            yield "AND", "unordered pairs of different trends, one of the 1st and one of the 2nd operand"
        if semantics == "skip-till-any-match":
            many = "exponentially" if _repeats(self.bound.pattern) else "polynomially"
            yield "trends", f"{many} many in the events at worst; none is built"
        ties = "" if self.reading.tiebreak is None else f" and {self.reading.tiebreak}"
        yield "order", f"by {self.reading.time}{ties}; rows that tie are simultaneous, never in one trend"
        if semantics == "contiguous":
            yield "", "each of the rows that tie continues the trends before them: repeated rows multiply trends"
        wanted = needed_columns(self.bound) | {self.reading.time, self.reading.tiebreak, self.type_column}
        yield "reads", ", ".join(sorted(name for name in wanted if name is not None))

    @property
    def type_column(self) -> str | None:
        return self.reading.type if self.bound.types is None else None

    def labels(self) -> Rows:
        types = dict(self.bound.types or ())
        for i, label in enumerate(self.bound.labels):
            of = f"type {label.type}"
            if label.type in types:
                always = types[label.type] == Literal_(True)
                of = "every row" if always else f"{of}: {term_to_text(types[label.type])}"
            role = "in some trends"
            if label.negated:
                role = f"forbidden by {', '.join(n for n, p in self.negations if i in _labels(p))}"
            elif i in self.plan.mandatory:
                role = "in every trend"
            local = " AND ".join(term_to_text(term, label.name) for term in self.bound.local[i])
            yield label.name, of, role, local and f"where {local}"

    # ---- the automaton

    @cached_property
    def numbers_of_not(self) -> dict[tuple[int, int], str]:
        """A name for each guard of each operand."""
        keys = [(i, g) for i, p in enumerate(self.machine.operands) for g in range(len(p.guards))]
        return {key: f"N{n}" for n, key in enumerate(keys, 1)}

    @property
    def negations(self) -> list[tuple[str, Positions]]:
        return [(name, self.machine.operands[i].guards[g]) for (i, g), name in self.numbers_of_not.items()]

    def automaton(self) -> list[str]:
        shown = range(min(self.q, MOST_STATES))
        lines = table((str(s), self.title(s), "; ".join(self.moves(s)), self.ending(s)) for s in shown)
        if self.q > MOST_STATES:
            lines.append(f"... and {count(self.q - MOST_STATES, 'state')} more")
        legend = [("-L-> n", "an event labelled L takes the trends of a state into state n")]
        if not self.negations:
            return [*lines, *table(legend)]
        watched = [
            (name, f"NOT {pattern_to_text(self.machine.operands[i].guards[g].pattern)}", self.steps(i, g))
            for (i, g), name in self.numbers_of_not.items()
        ]
        legend.append(("=L=> n", "an event labelled L, forbidden, moves them there"))
        return [*lines, *table(watched), *table(legend)]

    def title(self, s: int) -> str:
        """Name a state by the label that leads into it, and say what it knows beyond that."""
        state = self.machine.states[s]
        by = self.machine.label[s]
        words = ["finished" if state.final else "start" if by < 0 else self.bound.labels[by].name]
        if len(state.views) > 1 and None in state.views:
            words.append("of the 1st" if state.views[0] is not None else "of the 2nd")
        for i, view in enumerate(state.views):
            for g, progress in () if view is None else view.clocks:
                if progress is None:
                    words.append(f"{self.numbers_of_not[i, g]} matched")
                elif progress != {(START, ())}:
                    words.append(f"{self.numbers_of_not[i, g]} begun")
        return ", ".join(words)

    def moves(self, s: int) -> Iterator[str]:
        """Yield where the trends of a state can go."""
        targets: dict[int, list[int]] = {}
        for source, by, target in self.machine.transitions:
            if source == s:
                targets.setdefault(by, []).append(target)
        for by, found in targets.items():
            pair = self.plan.pair_of(s, by)
            unless = " or ".join(self.numbers_of_not[key] for key in self.watching(self.machine.states[s], by))
            given = (f" if P{pair + 1}" if pair >= 0 else "") + (f" unless {unless}" if unless else "")
            yield f"-{self.bound.labels[by].name}-> {', '.join(map(str, found))}{given}"
        state = self.machine.states[s]
        if self.bound.semantics == "contiguous" and not state.final and self.machine.label[s] >= 0:
            return  # any tick ends these
        for by in self.forbidden:
            kept = self.machine.keep(1 << by, extended=False)[s]
            if kept != s:
                yield f"={self.bound.labels[by].name}=> {'gone' if kept < 0 else kept}"

    @property
    def forbidden(self) -> list[int]:
        return [by for by, label in enumerate(self.bound.labels) if label.negated]

    def watching(self, state: State, by: int) -> list[tuple[int, int]]:
        """Return the guards on the steps by a label out of a state."""
        found = set()
        for i, (p, view) in enumerate(zip(self.machine.operands, state.views, strict=True)):
            for position in () if view is None else view.at:
                steps = p.first if position == START else p.follow[position]
                found |= {(i, g) for q, guards in steps.items() if p.labels[q] == by for g in guards}
        return sorted(found)

    def ending(self, s: int) -> str:
        """Say whether the trends of a state count."""
        if self.machine.states[s].final:
            return "counted at the window's end"
        if s in self.machine.accepting:
            return "accepting"
        return "" if any(source == s for source, _, _ in self.machine.transitions) else "dead end"

    def steps(self, operand: int, guard: int) -> str:
        """Say on which steps a NOT is watched."""
        p = self.machine.operands[operand]

        def name(position: int) -> str:
            return self.bound.labels[p.labels[position]].name

        def on(guards: Guards) -> bool:
            return guard in guards

        found = [f"from the window's start to {name(q)}" for q, guards in p.first.items() if on(guards)]
        found += [
            f"between {name(a)} and {name(b)}"
            for a, follow in p.follow.items()
            for b, guards in follow.items()
            if on(guards)
        ]
        found += [f"from {name(q)} to the window's end" for q, guards in p.last.items() if on(guards)]
        return ", ".join(dict.fromkeys(found))

    # ---- partitions and predicates

    def substreams(self) -> Rows:
        if not self.bound.keys:
            yield ("the whole input is one",)
        for k, key in enumerate(self.bound.keys):
            role = "group" if k in self.bound.group else "equivalence"
            binds = "binds every row"
            if key.labels is not None:
                binds = f"binds {names(self.bound, key.labels)}; other events belong to every value"
            yield attribute(self.bound, key.labels, key.path), role, binds

    def predicates(self) -> Rows:
        bound = self.bound
        keys = [attribute(bound, key.labels, key.path) for key in bound.keys]
        yield "equivalence", "", f"[{', '.join(keys)}]" if keys else "none"
        local = [
            term_to_text(term, label.name)
            for label, terms in zip(bound.labels, bound.local, strict=True)
            for term in terms
        ]
        for i, text in enumerate(local or ["none"]):
            yield "" if i else "local", "", text
        if not self.plan.pairs:
            yield "adjacent", "", "none"
        for i, pair in enumerate(self.plan.pairs, 1):
            before, after = bound.labels[pair.before].name, bound.labels[pair.after].name
            texts = [(comparison_to_text(c, before, after), "separable") for c in pair.comparisons]
            texts += [(term_to_text(term, before, after), "general") for term in pair.general]
            for j, (text, kind) in enumerate(texts):
                yield "" if j else "adjacent", "" if j else f"P{i}", text, kind
            found = self.physical.searches[i - 1]
            yield "", "", f"by {found}: {COMPLEXITY[found]}"

    # ---- what is kept

    def storage(self) -> list[str]:
        rows: dict[tuple[str, ...], list[str]] = {}
        for s in range(self.q):
            by = self.machine.label[s]
            if by >= 0:
                row = (self.bound.labels[by].name, self.plan.granularity[s], self.explain_store(s))
                rows.setdefault(row, []).append(str(s))
        lines = table((_states(states), *row) for row, states in rows.items())
        if self.plan.whole is not None:
            return [*lines, "the rows of a window are kept until it is evaluated, for conditions on whole trends"]
        if self.plan.stored:
            return [*lines, "all other events are added up and dropped at once"]
        return [*lines, "no event is stored: all are added up and dropped at once"]

    def asking(self, s: int) -> list[int]:
        """Return the predicate pairs on the transitions out of a state."""
        return sorted(
            {self.plan.pair_of(s, by) for source, by, _ in self.machine.transitions if source == s} - {-1}
        )

    def explain_store(self, s: int) -> str:
        """Say what is kept of the trends in a state, and why."""
        asking = self.asking(s)
        which = f"for {' and '.join(f'P{pair + 1}' for pair in asking)}"
        match self.bound.semantics, bool(asking):
            case "skip-till-any-match", True:
                return f"an aggregate per event, stored {which}"
            case "skip-till-next-match", True:
                return f"events not yet extended, stored {which}"
            case "contiguous", True:
                return f"one aggregate; what {which.removeprefix('for ')} asks of neighbouring rows is a label"
            case "skip-till-any-match", False:
                return "one aggregate: no predicate on what comes after"
            case "skip-till-next-match", False:
                return "one aggregate of the trends not yet extended"
            case _:
                return "one aggregate of the trends that end in the last tick"

    # ---- windows

    @property
    def overlap(self) -> int:
        """How many windows hold an event, at most; 0 where that depends on the data."""
        return count_overlap(self.bound.window)

    def window(self) -> Rows:
        window, reading = self.bound.window, self.reading
        yield from explain_window(self.plan, reading.zone, reading.clocks_change)
        slides = isinstance(window, Window) and window.slide is not None and window.unit != "events"
        if reading.offset is not None and slides:
            yield "offset", reading.offset
        for i, line in enumerate(self.columns()):
            yield "" if i else "basis", line

    def columns(self) -> Iterator[str]:
        """Say in which columns the aggregates of a sub-stream are computed."""
        if self.bound.window is None:
            yield f"one column per sub-stream, of q = {self.q} entries"
        elif not self.plan.composes:
            beside = self.physical.side_by_side
            how = "windows that overlap run side by side" if beside else "every window runs by itself"
            yield f"one column per window; {how}"
        elif self.overlap == 1:
            yield f"one column per window, of q = {self.q} entries"
        else:
            unit = "tick" if self.overlap == 0 else "pane"
            yield f"one matrix of q x q per {unit}, q = {self.q}, composed; or one column of q per window"
            yield "composed if the windows together hold at least twice the rows there are, and a matrix"
            yield f"step per row and a product per {unit} cost less than a column step per row and window"

    # ---- results

    def result(self) -> Rows:
        window, group = self.bound.window is not None, ", ".join(self.bound.group_names)
        per = " and ".join(["window"] * window + ([f"group ({group})"] if group else []))
        yield "rows", f"one per {per}" if per else "one"
        paired = len(self.machine.operands) > 1
        if paired:
            yield "carried", "each for the trends of the 1st operand alone, of the 2nd alone, and of both"
        carried = dict.fromkeys(
            ["count of trends", *(part for output in self.bound.outputs for part in self.parts(output))]
        )
        for i, part in enumerate(carried):
            yield "" if i or paired else "carried", part
        finish = self.bound.finish
        for i, output in enumerate(self.bound.outputs if finish is None else ()):
            yield "" if i else "returned", f"{output.name} = {self.formula(output)}"
        if finish is not None:
            yield from self.explain_finish(finish)
        if self.reading.numbers == "exact":
            yield "numbers", "exact: counts and sums of any length, as decimal text"
        elif self.reading.numbers == "long":
            limit = "2^63 - 1, or 2^53 where rows are not seen again"
            yield "numbers", f"long: counts are integers up to {limit}, and an error beyond; the rest is double"
        else:
            yield "numbers", "double: exact up to 2^53, then rounded; Infinity beyond the range of a double"

    def explain_finish(self, finish: Finish) -> Rows:
        """Say what becomes of the rows."""
        for i, column in enumerate(finish.columns):
            text = self.over_results(column.term)
            yield "" if i else "returned", column.name if text == column.name else f"{column.name} = {text}"
        if finish.having is not None:
            yield "kept", f"rows with {self.over_results(finish.having)}"
        order = [f"{self.over_results(term)}{' descending' if down else ''}" for term, down in finish.order]
        if order or finish.limit is not None:
            first = "" if finish.limit is None else f"; the first {finish.limit} of each window"
            yield "order", f"by {', '.join([*order, *self.bound.group_names]) or 'window'}{first}"

    def over_results(self, term: Term) -> str:
        """Return an expression over results, with aggregates as they are written."""
        text = term_to_text(term)
        listed = [] if self.bound.finish is None else [column.name for column in self.bound.finish.columns]
        for output in self.bound.outputs:
            if output.name not in listed:
                text = text.replace(expr_to_text(Ref((output.name,))), self.aggregate_text(output))
        return text

    def aggregate_text(self, output: Output) -> str:
        """Return an aggregate as it is written."""
        if output.measure or output.each or output.distinct:
            return shown_name(output.name)
        return output_to_text(output, self.bound)

    def parts(self, output: Output) -> list[str]:
        """Return what is carried along for an aggregate."""
        if output.each or output.distinct:
            return []
        if output.measure is not None:
            return self.measure_parts(output, output.measure)
        of = attribute(self.bound, output.labels, output.path) if output.path else names(self.bound, output.labels)
        match output.function:
            case "min" | "max":
                return [f"{output.function} of {of}"]
            case "sum" | "avg":
                return [f"sum of {of}", f"non-NULL occurrences of {of}"]
            case "count":
                return [f"occurrences of {of}"] if output.labels else ["count of trends"]
            case _:
                return [f"{part} of {of}" for part in ("sum of squares", "sum", "non-NULL occurrences")]

    def measure_parts(self, output: Output, measure: Measure) -> list[str]:
        """Return what is carried along for an aggregate over trends."""
        of = measure_to_text(self.bound, measure)
        made = next(made for made in self.plan.aggregates.outputs if made.output.name == output.name)
        count = "count of trends that have it" if made.block else "count of trends"
        if output.function in ("min", "max"):
            return [f"{output.function} over trends of {of}"]
        if output.function in ("sum", "avg"):
            return [f"sum over trends of {of}", count]
        return [f"{part} over trends of {of}" for part in ("sum of squares", "sum")] + [count]

    def formula(self, output: Output) -> str:
        """Say what an aggregate is made of."""
        if output.each or output.distinct:
            return self.once(output)
        first, *rest = self.parts(output)
        if len(self.machine.operands) > 1:
            first, *rest = (
                (f"{part} in all pairs" for part in (first, *rest)) if output.labels else ["count of pairs"]
            )
        if output.log is not None:
            return f"log{output.log}({first})"
        if output.function == "avg":
            return f"{first} / {rest[0]}" if output.measure is None else f"({first}) / ({rest[0]})"
        if output.function in SPREADS:
            what = "variance" if output.function.startswith("var") else "standard deviation"
            whole = "" if output.function.endswith("pop") else " of a sample"
            return f"the {what}{whole} that these give: {', '.join((first, *rest))}"
        return first

    def once(self, output: Output) -> str:
        """Say what an aggregate over events or keys, each once, is of."""
        bound = self.bound
        if output.distinct:
            keys = ", ".join(attribute(bound, bound.keys[k].labels, bound.keys[k].path) for k in output.distinct)
            found = f"number of values of ({keys}) that have a trend"
        else:
            where = "a pair" if len(self.machine.operands) > 1 else "a trend"
            what = names(bound, output.labels)
            found = f"number of events {what} that are in {where}, each once"
            if output.path:
                value = attribute(bound, output.labels, output.path)
                kind = "sum" if output.function == "sum" else "mean"
                found = f"{kind} of {value} over events {what} that are in {where}, each once"
        return found if output.log is None else f"log{output.log}({found})"

    def cost(self) -> Rows:
        bound = max([*map(_bound, self.physical.searches), worst_choice(self.plan)], key=BOUNDS.index)
        stored = "stored events + " if self.plan.stored else ""
        if self.overlap == 1:
            each, open_ = "", "q" if self.bound.window is None else "q x open windows"
        elif self.plan.composes:
            unit = "tick" if self.overlap == 0 else "pane"
            each = f", composed: each goes into its {unit} once, then O(q^3) per {unit}"
            open_ = f"q^2 x open {unit}s"
        else:
            often = f"{self.overlap} windows hold an event" if self.overlap else "one window per trigger"
            each, open_ = f" and a window; {often}", "q x open windows"
        yield "time", f"{bound} for n events of a sub-stream{each}"
        if self.physical.reason:
            yield "", f"{self.physical.reason}, so stored events are scanned"
        elif self.physical.tied != self.physical.untied and not self.bound.maximal:
            yield "", "where rows tie, stored events are scanned"
        elif general := [f"P{i}" for i, pair in enumerate(self.plan.pairs, 1) if pair.general and self.plan.stored]:
            both = "does not separate" if len(general) == 1 else "do not separate"
            yield "", f"{' and '.join(general)} {both}, so stored events are scanned"
        if self.plan.aggregates.each:
            how = "forward and back over the states that are reached, O(n) for n events of a window"
            if self.physical.untied != "linear":
                how = "back through the stored events, O(n^2) at worst for n events of a window"
            yield "", f"EACH goes {how}"
        rows = "q x rows of open windows + " if self.plan.whole is not None else ""
        yield "memory", f"O({rows}{stored}{open_}), q = {self.q}"


def _bound(search: Search) -> str:
    complexity = COMPLEXITY[search]
    return complexity[: complexity.index(")") + 1]


def _states(numbers: list[str]) -> str:
    few = numbers if len(numbers) <= 6 else [*numbers[:3], "...", numbers[-1]]
    return f"state{'' if len(numbers) == 1 else 's'} {', '.join(few)}"


def _repeats(pattern: Pattern) -> bool:
    """Tell whether the trends of a pattern can grow without bound."""
    every = walk_pattern(pattern)
    return any(isinstance(part, Repeat) and part.high is None for part, negated in every if not negated)


def _labels(p: Positions) -> set[int]:
    """Return the labels of positions and of what they forbid."""
    return set(p.labels).union(*map(_labels, p.guards))
