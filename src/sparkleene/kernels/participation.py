"""Which events are in some trend: those that can be reached, and from which the end of a trend can be.

Nothing is counted. Without stored events a tick maps sets of states to sets of states, whatever the semantics. A
pass forward notes which states hold partial trends before each tick, a pass back which states lead to a result
after it. An event is in a trend if one of its transitions leads from the one to the other. With stored events the
ends of partial trends (see trends.py) take the place of states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparkleene.kernels.conditions import holds
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import ANY, Array, Predicates, Program
from sparkleene.kernels.ticks import has, tick_symbol
from sparkleene.kernels.trends import EARLIER, EVENT, KIND, LABEL, SINCE, UNTIL, Events, find_sources, state_at

_BIT = np.uint64(1)
_NONE = np.uint64(0)
_WORD = 64  # states in a word of a set


@helper
def _put(states: Array, s: Any) -> None:
    """Put a state into a set."""
    states[s // _WORD] |= _BIT << np.uint64(s % _WORD)


@helper
def _in(states: Array, s: Any) -> bool:
    """Tell whether a state is in a set."""
    return (states[s // _WORD] >> np.uint64(s % _WORD)) & _BIT != _NONE  # type: ignore[no-any-return]


@helper
def _clear(states: Array) -> None:
    """Make a set empty."""
    for w in range(len(states)):
        states[w] = _NONE


@helper
def _move_on(program: Program, events: Events, i: int, j: int, now: Array, after: Array) -> None:
    """Write the states that hold partial trends after the tick i:j, given those before it."""
    _clear(after)
    for e in range(i, j):
        mask = program.labels[events.symbol[e]]
        for label in range(program.off.size - 1):
            if has(mask, label):
                for t in range(program.off[label], program.off[label + 1]):
                    if _in(now, program.src[t]):
                        _put(after, program.dst[t])
    y = tick_symbol(program.labels, events.symbol, i, j)
    for s in range(program.states):
        k = program.keep[y, s]
        if k >= 0 and _in(now, s):
            _put(after, k)


@helper
def _move_back(
    program: Program, events: Events, real: Array, i: int, j: int, before: Array, now: Array, earlier: Array,
    took: Array, at: int,
) -> None:  # fmt: skip
    """Write the states that lead to a result from before the tick i:j, given those after it, and mark its events.

    `before` are the states that hold partial trends before the tick; event e is marked in took[at + e - i].
    """
    _clear(earlier)
    for e in range(i, j):
        mask = program.labels[events.symbol[e]]
        for label in range(program.off.size - 1):
            if has(mask, label):
                for t in range(program.off[label], program.off[label + 1]):
                    if _in(now, program.dst[t]):
                        _put(earlier, program.src[t])
                        if _in(before, program.src[t]):
                            took[at + e - i] |= _BIT << np.uint64(real[label])
    y = tick_symbol(program.labels, events.symbol, i, j)
    for s in range(program.states):
        k = program.keep[y, s]
        if k >= 0 and _in(now, k):
            _put(earlier, s)


@kernel
def mark_by_states(
    program: Program, events: Events, real: Array, kinds: Array, lo: Array, hi: Array, at: Array, took: Array
) -> None:
    """Write by which labels each row of the stretches lo[k]:hi[k] is in a trend, as bits in took from at[k] on.

    `real` are the pattern's labels of the program's, `kinds` the classes of results that count, as bits.
    """
    tick, words = events.tick, (program.states + _WORD - 1) // _WORD
    now, other = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    longest = 0
    for k in range(lo.size):
        longest = max(longest, hi[k] - lo[k])
    held = np.zeros((longest + 1, words), np.uint64)
    starts = np.zeros(longest + 1, np.int64)
    for k in range(lo.size):
        if events.stop[0]:
            break
        count, i = 0, lo[k]
        _clear(now)
        _put(now, 0)
        while i < hi[k] and not events.stop[0]:
            j = i + 1
            while j < hi[k] and tick[j] == tick[i]:
                j += 1
            starts[count] = i
            for w in range(words):
                held[count, w] = now[w]
            _move_on(program, events, i, j, now, other)
            now, other = other, now
            count, i = count + 1, j
        starts[count] = hi[k]
        _clear(now)
        for o in range(program.out_state.size):
            if (kinds[k] >> program.out_class[o]) & 1:
                _put(now, program.out_state[o])
        for c in range(count - 1, -1, -1):
            if events.stop[0]:
                break
            i, j = starts[c], starts[c + 1]
            _move_back(program, events, real, i, j, held[c], now, other, took, at[k] + i - lo[k])
            now, other = other, now


@kernel
def mark_by_ends(
    program: Program, predicates: Predicates, events: Events, real: Array, ends: Array, log: Array, lo: int,
    kinds: int, took: Array,
) -> None:  # fmt: skip
    """Write by which labels each row of a window is in a trend, given the ends of its partial trends and their log.

    From the last end to the first: one that completes a trend, or that such a one extends, is in a trend. Ends that
    are known to be in one are not looked at again.
    """
    count, every = len(ends), program.mode == ANY
    whole = np.zeros(count, np.bool_)
    open_ = np.zeros(count, np.int64)  # ends of which it is not known yet, ascending
    left = 0
    for k in range(count):
        whole[k] = ends[k, KIND] >= 0 and (kinds >> ends[k, KIND]) & 1 != 0
        if not whole[k]:
            open_[left] = k
            left += 1
    stack = np.zeros(len(predicates.code) + 1)
    pair = np.zeros(program.states, np.int64)
    for k in range(count - 1, -1, -1):
        while left and open_[left - 1] >= k:
            left -= 1
        if events.stop[0]:
            break
        if not whole[k]:
            continue
        e, since = lo + ends[k, EVENT], ends[k, SINCE]
        took[ends[k, EVENT]] |= _BIT << np.uint64(ends[k, LABEL])
        find_sources(program, events, real, ends, lo, k, pair)
        # Where trends may not skip, what an event extends leaves its state, and so is in the log of its tick.
        first, last = (np.int64(0), np.int64(left)) if every else (np.int64(since), np.int64(ends[k, UNTIL]))
        kept = first
        for c in range(first, last):
            j = open_[c] if every else np.int64(log[c, 0])
            fits = not whole[j] and j < ends[k, EARLIER]
            if fits:
                s = state_at(ends, log, j, since)
                fits = s >= 0 and pair[s] != -2
                if fits and pair[s] >= 0:
                    fits = holds(predicates, events.f, events.g, pair[s], lo + ends[j, EVENT], e, stack)
            if fits:
                whole[j] = True
            elif every:
                open_[kept] = j
                kept += 1
        if every:
            left = kept
