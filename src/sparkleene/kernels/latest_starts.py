"""Windows per trigger in which a trend ends, found by the latest start of each state.

More rows must never take trends away. A partial trend that begins later is in all windows that hold one
that begins earlier. So of the partial trends in a state only the latest start matters, and a window holds a trend
that ends at its last tick if that is in it.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import kernel
from sparkleene.kernels.linear import Steps, list_steps
from sparkleene.kernels.program import Array, Events, Program


def find_ends(program: Program, events: Events, lo: Array, hi: Array, out: Array) -> None:
    """Tell of windows lo[k]:hi[k], neither end ever falling, for which classes a trend ends with the last tick.

    Results are in states of their own, as in a momentary machine. Windows begin and end between ticks.
    """
    latest, fresh = np.full(program.states, -1, np.int64), np.full(program.states, -1, np.int64)
    _find_ends(program, list_steps(program), events, lo, hi, (latest, fresh), out)


@kernel(allocates=False)
def _find_ends(
    program: Program, steps: Steps, events: Events, lo: Array, hi: Array, starts: tuple[Array, Array], out: Array
) -> None:
    """Do what `find_ends` tells; of each state the latest start, and the latest that a tick brings."""
    latest, fresh = starts
    top = np.int64(0)
    for k in range(lo.size):
        if events.stop[0]:
            return
        top = max(top, lo[k])  # what begins before is in no window from here on
        while top < hi[k]:
            i = top
            for o in range(len(program.out_state)):
                latest[program.out_state[o]] = -1
            while top < hi[k] and events.tick[top] == events.tick[i]:
                y = np.int64(events.symbol[top])
                for t in range(steps.off[y], steps.off[y + 1]):
                    begin = latest[steps.src[t]] if steps.src[t] > 0 else top
                    fresh[steps.dst[t]] = max(fresh[steps.dst[t]], begin)
                top += 1
            for e in range(i, top):
                y = np.int64(events.symbol[e])
                for t in range(steps.off[y], steps.off[y + 1]):
                    d = steps.dst[t]
                    latest[d] = max(latest[d], fresh[d])
                    fresh[d] = -1
        for o in range(len(program.out_state)):
            if latest[program.out_state[o]] >= lo[k]:
                out[k, program.out_class[o]] = True
