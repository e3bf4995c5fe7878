"""What goes wrong, as a message and an exit code: nobody is shown a stack trace."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sparkleene.errors import Diagnostic, QueryError, SparkleeneError, first_line

ERROR = 1
"""The exit code of errors; a command line that makes no sense gives 2, Ctrl-C 130."""
INTERRUPTED = 130
UNREAD = 128 + 13
"""What shells give for a process that SIGPIPE ends: whoever read the output, such as `head`, had enough of it."""


WORDS = (
    (r"pass type= with its name, type=None if", "name it with --type, or add --one-type if"),
    (r"leave out types=, and name the column with type=", "leave out --define and --one-type"),
    (r"\btypes= to define types", "--define to define types"),
    (r"\bpass type=", "add --type"),
    (r"\bpass tiebreak= with", "add --tiebreak with"),
    (r"\bpass time_unit, for example '(\w+)'", r"add --time-unit, for example \1"),
    (r"\bpass time_unit", "add --time-unit"),
    (r"leave timezone= out if", "leave out --timezone if"),
    (r"; else give the column .*tz_localize", "; else write their zone behind the times in the data: Z for UTC"),
    (r"\bpass engine='local'", "add --engine local"),
    (r"if not, read it yourself and pass the table", "--delimiter says what else"),
    (
        r"the names look like data: name the columns",
        "the first line looks like data: name the columns with --columns",
    ),
)
"""Advice for those who write Python, and for those who write commands."""


def usage_error(
    message: str, help: str | None = None, *, code: str = "bad-option", filename: str = "query"
) -> SparkleeneError:
    """Return the error for a command line that cannot be run."""
    return QueryError(Diagnostic(code, message, help=help), filename=filename)


def render_error(error: SparkleeneError) -> str:
    """Return the message of an error in the words of the command line.

    >>> print(render_error(usage_error("the windows have a unit", "pass time_unit, for example 'seconds'")))
    error[bad-option]: the windows have a unit
     = help: add --time-unit, for example seconds
    """
    return in_command_words(error.render(color=sys.stderr.isatty()))


def in_command_words(text: str) -> str:
    """Return advice for those who write Python as advice for those who write commands."""
    for python, command in WORDS:
        text = re.sub(python, command, text)
    return text


@contextmanager
def report_failures() -> Iterator[None]:
    """Print the message of whatever goes wrong, and end with its exit code."""
    try:
        yield
        sys.stdout.flush()
    except SparkleeneError as error:
        _end(render_error(error))
    except BrokenPipeError:
        _silence_output()
        raise SystemExit(UNREAD) from None
    except KeyboardInterrupt:
        _end("interrupted", INTERRUPTED)
    except OSError as error:
        if error.filename is None:
            _silence_output()
        what = f"'{error.filename}': " if error.filename else ""
        _end(f"error: {what}{error.strerror or first_line(error)}")
    except MemoryError:
        _end("error: there is not enough memory", ERROR)
    except Exception as error:
        if _was_interrupted(error):
            _end("interrupted", INTERRUPTED)
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j", "grpc"):
            raise
        _end(spark_message(error))


def _was_interrupted(error: BaseException) -> bool:
    """Tell whether an error came of Ctrl-C: Spark raises it when it cleans up, in place of the interrupt."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def _silence_output() -> None:
    """Let what is left to print go nowhere, so that it does not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def spark_message(error: BaseException) -> str:
    r"""Return the message of an error that Spark raised: our own in it, or its first line.

    >>> spark_message(Exception("[USER_RAISED_EXCEPTION] error[null-time]: no time SQLSTATE: P0001"))
    'error[null-time]: no time'
    >>> spark_message(Exception("Job aborted."))
    'error: Spark says: Job aborted.'
    >>> spark_message(Exception("No worker.\n=== Streaming Query ===\n raise_error(error[null-time])"))
    'error: Spark says: No worker.'
    >>> spark_message(Exception("An error occurred while calling o1.x.\n\tat a\nCaused by: E: [MALFORMED] No JSON"))
    'error: Spark says: [MALFORMED] No JSON'
    """
    text = str(error).partition("\n=== Streaming Query ===")[0]  # then comes the plan, with all that it might raise
    start = text.find("error[")
    if start < 0:
        cause = getattr(error, "cause", None)
        lines = [line for line in text.strip().splitlines() if not line.startswith("\tat ")]
        if lines and lines[0].startswith(
            "An error occurred while calling"
        ):  # of Java; what went wrong stands below
            lines = re.findall(r"\[[A-Z][A-Z_0-9.]+\] .*", text)[-1:] or lines
        return f"error: Spark says: {first_line(cause or error) if not lines else lines[0].strip()}"
    lines = text[start:].split("\n")
    # a message of ours: its first line, and lines that begin with a gutter
    more = [re.match(r"\s*\d* *(=|\||-->) ?", line) for line in lines]
    end = next((i for i, line in enumerate(more) if i and not line), len(lines))
    return in_command_words(re.sub(r"\s+SQLSTATE: \w+\s*$", "", "\n".join(lines[:end])))


def _end(text: str, code: int = ERROR) -> NoReturn:
    print(text, file=sys.stderr)
    raise SystemExit(code)
