"""The general kernel: every stored event is compared with every new one, in all three semantics.

Stack code
----------
A pair may carry code that must come out true. An instruction is a row (opcode, argument); the stack holds
doubles, and truth is three-valued: 1.0 true, 0.0 false, NaN unknown (NULL). Only 1.0 counts as true.

    opcode      argument    effect
    PUSH_F      column      push f[column] of the previous event
    PUSH_G      column      push g[column] of the new event
    PUSH_CONST  index       push consts[index]
    NEG         -           x -> -x
    ADD SUB MUL DIV MOD     x y -> x op y; MOD has the dividend's sign; x / 0 and x % 0 are unknown
    CODE_LT CODE_LE CODE_GT CODE_GE CODE_EQ CODE_NE
                -           x y -> 1.0 or 0.0; unknown if a side is
    AND OR      -           x y -> three-valued and, or
    NOT         -           x -> three-valued not
    ISNULL      -           x -> 1.0 if unknown, else 0.0

The argument of an instruction that needs none is ignored. Operands are pushed left to right; the result is
what is on top at the end. CODE_LT + op is the instruction of comparison `op` of program.py.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.common import Actions, actions, blank, clear, compare, pick_up, tick_symbol
from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import NEXT, Array, Events, Field, Predicates, Program

PUSH_F, PUSH_G, PUSH_CONST, NEG, ADD, SUB, MUL, DIV, MOD = range(9)
CODE_LT, CODE_LE, CODE_GT, CODE_GE, CODE_EQ, CODE_NE = range(9, 15)
AND, OR, NOT, ISNULL = range(15, 19)


def supports(program: Program, predicates: Predicates) -> bool:
    """Tell whether this kernel can run a program: it can run all."""
    return True


@jit
def _binary(o: int, x: float, y: float) -> float:
    if o == AND:
        if x == 0.0 or y == 0.0:
            return 0.0
        return x * y  # unknown if a side is
    if o == OR:
        if x == 1.0 or y == 1.0:
            return 1.0
        return x + y
    if x != x or y != y:
        return np.nan
    if o >= CODE_LT:
        return 1.0 if compare(o - CODE_LT, x, y) else 0.0
    if o == ADD:
        return x + y
    if o == SUB:
        return x - y
    if o == MUL:
        return x * y
    if y == 0.0 or (o == MOD and abs(x) == np.inf):
        return np.nan
    return x / y if o == DIV else np.fmod(x, y)


@jit
def code_holds(
    code: Array, first: int, last: int, consts: Array, f: Array, g: Array, old: int, new: int, stack: Array
) -> bool:
    """Run instructions first:last."""
    top = 0
    for k in range(first, last):
        o, a = code[k, 0], code[k, 1]
        if o <= PUSH_CONST:
            stack[top] = f[a, old] if o == PUSH_F else (g[a, new] if o == PUSH_G else consts[a])
            top += 1
        elif o == NEG:
            stack[top - 1] = -stack[top - 1]
        elif o == NOT:
            stack[top - 1] = 1.0 - stack[top - 1]
        elif o == ISNULL:
            stack[top - 1] = 1.0 if stack[top - 1] != stack[top - 1] else 0.0
        else:
            top -= 1
            stack[top - 1] = _binary(o, stack[top - 1], stack[top])
    return stack[top - 1] == 1.0  # type: ignore[no-any-return]


@jit
def holds(
    off: Array,
    op: Array,
    code_off: Array,
    code: Array,
    consts: Array,
    f: Array,
    g: Array,
    p: int,
    old: int,
    new: int,
    stack: Array,
) -> bool:
    """Tell whether events `old` and `new` satisfy pair p."""
    for c in range(off[p], off[p + 1]):
        if not compare(op[c], f[c, old], g[c, new]):
            return False
    if code_off[p] == code_off[p + 1]:
        return True
    return code_holds(code, code_off[p], code_off[p + 1], consts, f, g, old, new, stack)  # type: ignore[no-any-return]


@jit
def _copy(ev: Array, val: Array, low: Array, s: int, i: int, t: int, j: int) -> None:
    """Copy entry i of state s to place j of state t."""
    ev[t, j] = ev[s, i]
    for w in range(val.shape[2]):
        val[t, j, w] = val[s, i, w]
    for m in range(low.shape[2]):
        low[t, j, m] = low[s, i, m]


@jit
def _settle(
    keep: Array, leave: Array, s: int, y: int, ext: Array, at: Array, ev: Array, val: Array, low: Array
) -> None:
    """Move the extended entries of state s by leave, then all its old entries by keep."""
    head, mid = at[0, s], at[1, s]
    free = head
    for i in range(head, mid):
        labels, target, label = ext[s, i], s, 0
        ext[s, i] = 0
        while labels and target >= 0:
            if labels & np.uint64(1):
                target = leave[label, target]
            labels >>= np.uint64(1)
            label += 1
        if target >= 0:
            target = keep[y, target]
        if target == s:
            if free != i:
                _copy(ev, val, low, s, i, s, free)
            free += 1
        elif target >= 0:
            _copy(ev, val, low, s, i, target, at[2, target])
            at[2, target] += 1
    for i in range(mid, at[2, s]):
        _copy(ev, val, low, s, i, s, free + i - mid)
    at[1, s], at[2, s] = free, free + at[2, s] - mid


@jit
def _advance(
    program: Program,
    act: Actions,
    predicates: Predicates,
    events: Events,
    field: Field,
    moving: Array,
    move_list: Array,
    spare: int,
    at: Array,
    ev: Array,
    ext: Array,
    val: Array,
    low: Array,
    i: int,
    end: int,
) -> int:
    """Process ticks from row i until the end or until a list might become too long; return where it stopped."""
    mod, columns, width, lows = field.mod, len(field.mod), val.shape[2], low.shape[2]
    tick, symbol, sums, low_values, f, g = events
    a_off, a_label, a_src, a_dst, a_pair, a_last, stored = act
    labels, keep, leave, states = program.labels, program.keep, program.leave, program.states
    sum_labels, low_labels = program.sum_labels, program.low_labels
    off, ops, code_off, code, consts = (
        predicates.off,
        predicates.op,
        predicates.code_off,
        predicates.code,
        predicates.consts,
    )
    following = program.mode == NEXT
    single = width + lows == 1
    size = ev.shape[1]
    stack = np.zeros(len(code) + 1)
    buf, buf_low = np.zeros(width, val.dtype), np.full(lows, np.inf)
    touched = np.zeros(states, np.bool_)
    used = alive = 0
    for s in range(states):
        used = max(used, at[2, s])
        alive += at[2, s] - at[0, s]
    while i < end:
        j = i + 1
        now = tick[i]
        while j < end and tick[j] == now:
            j += 1
        if used + (j - i) * spare + alive > size:
            break
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(a_off[y], a_off[y + 1]):
                s, p = a_src[a], a_pair[a]
                kind = 0
                c, o, right = 0, 0, 0.0
                if p >= 0:
                    kind = 2
                    if off[p + 1] - off[p] == 1 and code_off[p] == code_off[p + 1]:
                        kind, c = 1, off[p]
                        o, right = ops[c], g[c, e]
                for q in range(at[0, s], at[1, s]):
                    if kind == 1:
                        if not compare(o, f[c, ev[s, q]], right):
                            continue
                    elif kind == 2 and not holds(
                        off, ops, code_off, code, consts, f, g, p, ev[s, q], e, stack
                    ):
                        continue
                    if single:
                        buf[0] = add(buf[0], val[s, q, 0], mod[0])
                    else:
                        for w in range(width):
                            buf[w] = add(buf[w], val[s, q, w], mod[w % columns])
                        for m in range(lows):
                            buf_low[m] = min(buf_low[m], low[s, q, m])
                    if following:
                        ext[s, q] |= np.uint64(1) << np.uint64(a_label[a])
                        touched[s] = True
                if not a_last[a]:
                    continue
                d = a_dst[a]
                t = at[2, d]
                if single:
                    if nonzero(buf[0]):
                        val[d, t, 0] = buf[0]
                        buf[0] = 0
                        ev[d, t] = e
                        at[2, d] = t + 1
                elif not blank(buf):
                    pick_up(buf, buf_low, a_label[a], e, sum_labels, sums, low_labels, low_values, mod)
                    for w in range(width):
                        val[d, t, w] = buf[w]
                        buf[w] = 0
                    for m in range(lows):
                        low[d, t, m] = buf_low[m]
                        buf_low[m] = np.inf
                    ev[d, t] = e
                    at[2, d] = t + 1
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(labels, symbol, i, j)
        if following:
            for s in range(states):
                if touched[s]:
                    _settle(keep, leave, s, y, ext, at, ev, val, low)
        for k in range(moving[y]):
            s = move_list[y, k]
            if not touched[s]:
                t = keep[y, s]
                if t >= 0:
                    for q in range(at[0, s], at[1, s]):
                        _copy(ev, val, low, s, q, t, at[2, t])
                        at[2, t] += 1
                at[0, s] = at[1, s]
        used = alive = 0
        for s in range(states):
            touched[s] = False
            first, last = at[0, s], at[2, s]
            if not stored[s] and last - first > 1:
                if single:
                    for q in range(first + 1, last):
                        val[s, first, 0] = add(val[s, first, 0], val[s, q, 0], mod[0])
                else:
                    for q in range(first + 1, last):
                        for w in range(width):
                            val[s, first, w] = add(val[s, first, w], val[s, q, w], mod[w % columns])
                        for m in range(lows):
                            low[s, first, m] = min(low[s, first, m], low[s, q, m])
                last = first + 1
                at[2, s] = last
            at[1, s] = last
            used = max(used, last)
            alive += last - first
        i = j
    return i


@jit
def _items(
    program: Program,
    act: Actions,
    predicates: Predicates,
    events: Events,
    field: Field,
    moving: Array,
    move_list: Array,
    spare: int,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Process all stretches."""
    one, mod, states = field.one, field.mod, program.states
    width, lows, columns = out.shape[2], out_low.shape[2], len(field.one)
    # Entries of state s: old ones at[0, s]:at[1, s], those that the tick brings at[1, s]:at[2, s]. A state
    # without predicates has one entry, the sum of all.
    size = 64
    at = np.zeros((3, states), np.int64)
    ev = np.zeros((states, size), np.int64)
    ext = np.zeros((states, size), np.uint64)
    val, low = np.zeros((states, size, width), one.dtype), np.full((states, size, lows), np.inf)
    for k in range(len(lo)):
        for s in range(states):
            at[0, s] = at[1, s] = at[2, s] = 0
        at[1, 0] = at[2, 0] = 1
        ev[0, 0] = -1
        clear(val[0], low[0], 0)
        for c in range(columns):
            val[0, 0, c] = one[c]
        i = lo[k]
        while True:
            i = _advance(
                program,
                act,
                predicates,
                events,
                field,
                moving,
                move_list,
                spare,
                at,
                ev,
                ext,
                val,
                low,
                i,
                hi[k],
            )
            if i >= hi[k]:
                break
            # Shift all entries to the front; take twice the room if that does not help much.
            j = i + 1
            while j < hi[k] and events.tick[j] == events.tick[i]:
                j += 1
            need = (j - i) * spare
            for s in range(states):
                for q in range(at[0, s], at[2, s]):
                    _copy(ev, val, low, s, q, s, q - at[0, s])
                at[2, s] -= at[0, s]
                at[1, s] = at[2, s]
                at[0, s] = 0
                need += 2 * at[2, s]
            if 2 * need > size:
                size = max(2 * size, 2 * need)
                old_ev, old_val, old_low = ev, val, low
                ev, ext = np.zeros((states, size), np.int64), np.zeros((states, size), np.uint64)
                val, low = np.zeros((states, size, width), one.dtype), np.full((states, size, lows), np.inf)
                for s in range(states):
                    for q in range(at[2, s]):
                        ev[s, q] = old_ev[s, q]
                        for w in range(width):
                            val[s, q, w] = old_val[s, q, w]
                        for m in range(lows):
                            low[s, q, m] = old_low[s, q, m]
        for o in range(len(program.out_state)):
            s, c = program.out_state[o], program.out_class[o]
            for q in range(at[0, s], at[1, s]):
                for w in range(width):
                    out[k, c, w] = add(out[k, c, w], val[s, q, w], mod[w % columns])
                for m in range(lows):
                    out_low[k, c, m] = min(out_low[k, c, m], low[s, q, m])


def run(
    program: Program,
    predicates: Predicates,
    events: Events,
    field: Field,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Run a program over stretches of events."""
    act = actions(program, True)
    moves = program.keep != np.arange(program.states)
    # move_list[y, :moving[y]]: states whose entries a tick of symbol y moves.
    moving, move_list = moves.sum(axis=1), np.argsort(~moves, axis=1, kind="stable")
    spare = int(np.diff(act.off).max(initial=1))
    _items(program, act, predicates, events, field, moving, move_list, spare, lo, hi, out, out_low)
