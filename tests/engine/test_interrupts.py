"""Ctrl-C while kernels run comes through, but only where it does no harm."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene import interrupts, threads


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_is_held_until_a_check() -> None:
    before = signal.getsignal(signal.SIGINT)
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts.hold_back():
        press()
        reached = True
        interrupts.check()
    assert reached and signal.getsignal(signal.SIGINT) is before
    interrupts.check()  # nothing is left of it


def test_it_comes_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.hold_back(), interrupts.hold_back():
        press()


def test_an_error_is_told_before_it() -> None:
    with pytest.raises(ValueError, match="first"), interrupts.hold_back():
        press()
        raise ValueError("first")


def test_other_threads_do_as_they_did() -> None:
    found = []

    def run() -> None:
        with interrupts.hold_back():
            found.append(signal.getsignal(signal.SIGINT))

    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_a_process_that_is_forked_meanwhile_holds_nobody_up() -> None:
    code = """
import os, time
from sparkleene import interrupts

parent = os.getpid()
with interrupts.hold_back():
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.05)
        os._exit(0)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()


def test_a_run_ends_between_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    both = threads.Pool(1)
    with pytest.raises(KeyboardInterrupt), interrupts.hold_back():
        both.map(lambda part: (done.append(part), press()), [slice(i, i + 1) for i in range(5)])
    assert len(done) == 1
    table = pa.table({"time": [1, 2], "type": ["A", "B"]})
    assert sk.query("RETURN COUNT(*) PATTERN SEQ(A, B)").run(table).num_rows == 1


def test_where_it_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.hold_back():
            press()
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_answer_of_the_program_is_kept() -> None:
    asked = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        with interrupts.hold_back():
            press()
            assert asked == []
            interrupts.check()
        assert asked == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


# ---- kernels that are told to stop

SCAN = "S.x * NEXT(S).x > 0"
WHERE = {
    "scan": SCAN,
    "trees": "S.x < NEXT(S).x",
    "divide": "S.x < NEXT(S).x AND S.y < NEXT(S).y",
    "linear": "S.x > 0",
}


@pytest.mark.parametrize("kernel", WHERE)
def test_kernels_return_when_the_flag_is_set(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = sk.query(f"RETURN COUNT(*) PATTERN S+ WHERE {WHERE[kernel]}", type=None)
    rows = pa.table({"time": range(1, 40), "x": [1.0] * 39, "y": range(39)})
    whole = query.run(rows)
    flag = np.ones(1, np.uint8)
    flag.flags.writeable = False
    monkeypatch.setattr(interrupts, "stop_flag", lambda: flag)
    assert query.run(rows) != whole


def test_the_answer_of_pyspark_stops_kernels() -> None:
    def answer(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    answer.__module__ = "pyspark.core.context"
    before = signal.signal(signal.SIGINT, answer)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.hold_back():
            assert interrupts.stop_flag() is not interrupts.NEVER
            press()
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_the_default_answer_stops_kernels() -> None:
    """Another one may let the program go on, and then it needs the results."""
    with pytest.raises(KeyboardInterrupt), interrupts.hold_back():
        flag = interrupts.stop_flag()
        press()
        for _ in range(1000):
            if flag[0]:
                break
            time.sleep(0.01)
        assert flag[0]
    assert not interrupts.stop_flag()[0]
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with interrupts.hold_back():
            flag = interrupts.stop_flag()
            press()
        assert not flag[0]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_not_stopped() -> None:
    found = []
    with interrupts.hold_back():
        other = threading.Thread(target=lambda: found.append(interrupts.stop_flag()))
        other.start()
        other.join()
        assert found[0] is not interrupts.stop_flag()


SCRIPT = f"""
import warnings
import pyarrow as pa, sparkleene as sk

def rows(n):
    return pa.table({{"time": range(n), "x": [float(i % 7 - 3) for i in range(n)]}})

warnings.simplefilter("ignore")
query = sk.query("RETURN COUNT(*) PATTERN S+ WHERE {SCAN}", type=None)
query.run(rows(2000))
large = rows(400_000)
print("ready", flush=True)
query.run(large)
"""


def test_ctrl_c_ends_a_scan_that_would_take_minutes() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode in (1, -signal.SIGINT)
    assert said.strip().endswith("KeyboardInterrupt")
