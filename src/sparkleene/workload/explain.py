"""How a workload is evaluated, in words: what is shared, by whom, and what that is expected to save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sparkleene.engine.bursts import EXPECTED, expected, pays_from
from sparkleene.language.ast import And
from sparkleene.language.bound import Window
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import count
from sparkleene.workload.joints import find_joints

MOST = 12  # names in a line
OVERLAP = 2  # from so many windows to a row on, they may be put together from panes or rows


def explain(parts: Sequence[Part], sharing: str, streaming: bool = False) -> str:
    """Tell how the parts of a workload are evaluated, over tables or while it is `streaming`."""
    total = sum(len(part.names) for part in parts)
    lines = [f"Workload of {total} quer{'y' if total == 1 else 'ies'}, sharing {sharing}"]
    orders: dict[tuple[str, ...], list[str]] = {}
    for part in parts:
        keys = tuple(sorted(".".join(key.path) for key in part.plan.bound.keys))
        orders.setdefault(keys, []).extend(part.names)
    for keys, names in orders.items():
        whose = "" if len(orders) == 1 else f" for {_list_names(names)}"
        by = f"rows by {', '.join(keys)}" if keys else "all rows"
        lines.append(f"Order: one scan and order of {by}{whose}")
    for part in parts:
        if part.is_shared:
            lines.append(f"Together: {_list_names(part.names)}")
            lines += [f"  {name:<11} {text}" for name, text in _together(part)]
        else:
            lines.append(f"Alone: {part.names[0]}")
            lines.append(f"  {'states':<11} {len(part.plan.machine.states)}")
            if sharing != "never" and total > 1:
                lines.append(f"  {'because':<11} {_reason(part.plan)}")
    if sharing != "never" and not streaming:
        for joint in find_joints(parts, sharing == "always"):
            lines.append(f"Windows: {_list_names(joint.part.names)}")
            text = "common panes, or windows of all that hold the same rows once, "
            text += "in any case" if sharing == "always" else "where that costs less than each kind by itself"
            lines.append(f"  {'states':<11} {len(joint.part.plan.machine.states)}; {text}")
    return "\n".join(lines)


def _together(part: Part) -> Iterator[tuple[str, str]]:
    """Tell what the queries of one machine share."""
    plan = part.plan
    states = len(plan.machine.states)
    apart = sum(len(member.plan.machine.states) for member in part.members)
    yield "states", f"{states} instead of {apart}"
    if part.is_mixed:
        yield "windows", f"of {len(part.windows)} kinds, made of panes that are kept once"
    if plan.backward is not None:
        ways = count(plan.directed.lookups, "way")
        yield ("direction", f"from the end of windows: events look for others in {ways} instead of {plan.lookups}")
    totals = len({replace(output, name="") for output in plan.bound.outputs})
    if totals < len(plan.bound.outputs):
        yield "aggregates", f"{totals} of {len(plan.bound.outputs)} are different"
    if plan.physical.bursts:
        yield from _snapshots(plan)


def _snapshots(plan: Plan) -> Iterator[tuple[str, str]]:
    """Tell of each type whether its bursts are shared, in windows that are run one by one."""
    types: dict[str, set[int]] = {}
    for i, label in enumerate(plan.bound.labels):
        types.setdefault(label.type, set()).add(i)
    overlap, sums = _overlap(plan), len(plan.aggregates.totals) + len(plan.aggregates.lows)
    for type, labels in types.items():
        if any(plan.machine.negated >> i & 1 for i in labels):
            continue  # its rows move partial trends
        found = plan.copy_finder.copies(frozenset(labels))
        template, copies = max(found.items(), key=lambda item: len(item[1]))
        if len(copies) == 1:
            continue
        if overlap >= OVERLAP:
            text = f"{overlap:g} windows hold a row: bursts are shared only where these cost least one by one"
            yield "snapshots", text
            return
        rows, together = expected(
            template, len(copies), EXPECTED * len(template.steps) / max(1, template.slots), sums
        )
        least = pays_from({template: copies}, sums)
        when = "is never shared" if least is None else f"is shared from {count(least, 'row')} on"
        size = f"{len(copies)} copies of {count(template.inner, 'state')}"
        cost = f"a burst of {EXPECTED:.0f} rows costs {together / rows:.2f} of them, and {when}"
        yield "snapshots", f"{type}: {size}; {cost}"


def _overlap(plan: Plan) -> float:
    """Return how many windows hold a row."""
    window = plan.bound.window
    return float(window.size / window.slide) if isinstance(window, Window) and window.slide else 1.0


def _reason(plan: Plan) -> str:
    """Tell why a query shares no machine."""
    bound = plan.bound
    if isinstance(bound.pattern, And):
        return "pairs of trends (AND) have a machine of their own"
    if plan.every_row and len(plan.universal) < len(bound.keys):
        return "a key binds some of its events only, and the others count in their order"
    if plan.aggregates.each:
        return "EACH asks which events are in its own trends"
    if bound.chooses:
        return "it chooses among its trends by what they are as a whole"
    if plan.pairs and bound.semantics != "skip-till-any-match":
        return f"it compares neighbours under {bound.semantics}"
    return "no other query has its semantics, window, keys and groups, or one machine for both is larger than two"


def _list_names(names: Sequence[str]) -> str:
    if len(names) <= MOST:
        return ", ".join(names)
    return f"{', '.join(names[: MOST - 1])} and {len(names) - MOST + 1} more"
