"""Ctrl-C while kernels run comes through, but only where it does no harm."""

import os
import signal
import threading

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene import interrupts, threads


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_is_held_until_a_check() -> None:
    before = signal.getsignal(signal.SIGINT)
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        press()
        reached = True
        interrupts.check()
    assert reached and signal.getsignal(signal.SIGINT) is before
    interrupts.check()  # nothing is left of it


def test_it_comes_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.held(), interrupts.held():
        press()


def test_an_error_is_told_before_it() -> None:
    with pytest.raises(ValueError, match="first"), interrupts.held():
        press()
        raise ValueError("first")


def test_other_threads_do_as_they_did() -> None:
    found = []

    def run() -> None:
        with interrupts.held():
            found.append(signal.getsignal(signal.SIGINT))

    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_a_run_ends_between_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    both = threads.Pool(1)
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        both.map(lambda part: (done.append(part), press()), [slice(i, i + 1) for i in range(5)])
    assert len(done) == 1
    table = pa.table({"time": [1, 2], "type": ["A", "B"]})
    assert sk.query("RETURN COUNT(*) PATTERN SEQ(A, B)").run(table).num_rows == 1


def test_where_it_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.held():
            press()
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_answer_of_the_program_is_kept() -> None:
    asked = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        with interrupts.held():
            press()
            assert asked == []
            interrupts.check()
        assert asked == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
