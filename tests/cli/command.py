"""The command as a user starts it, in a process of its own, on a terminal or not; or here, which is faster."""

from __future__ import annotations

import io
import logging
import os
import pty
import re
import select
import subprocess
import sys
import time
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sparkleene.cli import main

COMMAND = [sys.executable, "-m", "sparkleene"]
LOCAL = ("--engine", "local")
SECONDS = 240
"""A process that takes longer hangs."""

QUERY = "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user"
EVENTS = """time,type,user,x
1,A,ann,4
2,A,bob,6
3,A,ann,5
4,B,ann,
5,B,bob,1
"""
ROWS = """user,count,sum_A_x
ann,3,18
bob,1,6
"""


def environment(**more: str) -> dict[str, str]:
    """What a process finds around it; nothing of this one's terminal."""
    ours = ("COLUMNS", "LINES", "NO_COLOR", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"TERM": "xterm-256color"} | more


def sparkleene(*arguments: Any, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, in this process unless the test needs more of a process than its input."""
    words = [*map(str, arguments)]
    if more.keys() <= {"input"}:
        return in_this_process(words, cwd, **more)
    given: dict[str, Any] = {"env": environment(), "stdin": subprocess.DEVNULL}
    given |= {"capture_output": True} if "stdout" not in more else {"stderr": subprocess.PIPE}
    return subprocess.run([*COMMAND, *words], cwd=cwd, text=True, timeout=SECONDS, **(given | more))


def in_this_process(
    words: list[str], cwd: Path, input: str = "", together: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as if it had a process of its own; starting one takes a second."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    if together:  # what it says goes where its results go
        err = out
    code: Any = 0
    with (
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.dict(os.environ, environment(**more), clear=True),
        patch.object(sys, "argv", ["sparkleene", *words]),
        patch.object(sys, "stdin", io.StringIO(input)),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except Exception:
            traceback.print_exc()
            code = 1
        finally:
            logging.disable(logging.NOTSET)
    printed, said = (stream.seek(0) or stream.read() for stream in (out, err))
    return subprocess.CompletedProcess(words, code, printed, said)


def good(*arguments: Any, cwd: Path, **more: Any) -> str:
    """Run the command, which has nothing to complain about, and return what it prints."""
    done = sparkleene(*arguments, cwd=cwd, **more)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def bad(*arguments: Any, cwd: Path, code: int = 1, **more: Any) -> str:
    """Run the command, which fails as it should, and return what it says."""
    done = sparkleene(*arguments, cwd=cwd, **more)
    return complaint(done.returncode, done.stderr, code)


def complaint(returned: int, said: str, code: int = 1) -> str:
    """Check what every failure has: an exit code, a first line that says it all, and no stack trace."""
    assert returned == code, said
    assert "Traceback" not in said and "\tat " not in said and 'File "' not in said, said
    if code == 1:
        assert re.match(r"error(\[[a-z-]+\])?: \S.*\n", said), said
    return said


def terminal(*arguments: Any, cwd: Path, **more: Any) -> tuple[int, str]:
    """Run the command on a terminal of 100 columns; return its exit code and all that was to be seen."""
    master, slave = pty.openpty()
    environment_here = environment(COLUMNS="100", LINES="40")
    try:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], cwd=cwd, env=environment_here, stdin=slave, stderr=slave,
            **({"stdout": slave} | more),
        )  # fmt: skip
    finally:
        os.close(slave)
    seen, deadline = b"", time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([master], [], [], 1)
            if ready:
                try:
                    read = os.read(master, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not read:
                    break
                seen += read
        return process.wait(10), seen.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        os.close(master)


def until(happens: Any, process: subprocess.Popen[Any], seconds: float = 120) -> None:
    """Wait for something that a process does."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert process.poll() is None, "the process has ended before"
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
