"""The boundary of a command: each end is an exit code and a short text, never a traceback.

An exception that no code expects is a fault of `dse` or of a model. One boundary catches all of
them: the traceback goes to a file, and the user sees one line that names it.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from dse.problems import LONGEST_MESSAGE, DseError, printable, shorten, without_passwords

INPUT = 2
"""The exit code of a command that cannot use its input."""
UNMET = 3
"""The exit code of a run with a target that no design meets."""
UNFORESEEN = 70
"""The exit code after an exception that no code expects: EX_SOFTWARE of BSD's sysexits.h."""
INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the number of SIGINT, as in shells."""
_LONGEST_TRACEBACK = 200_000  # characters: a message may contain a whole input
_NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
P = ParamSpec("P")
R = TypeVar("R")


class UnforeseenError(DseError):
    """A reader met an `error` that it does not expect, for the file or folder `source`."""

    exit_code = UNFORESEEN

    def __init__(self, source: str, error: Exception) -> None:
        self.source, self.error = source, error
        super().__init__(f"{source}: cannot be used: {_one_line(error)}")

    def __reduce__(self) -> tuple[type[UnforeseenError], tuple[str, Exception]]:
        return type(self), (self.source, self.error)


def reader(read: Callable[P, R]) -> Callable[P, R]:
    """Make each exception that a reader does not expect an `UnforeseenError` that names the file.

    The first argument of the reader, or the second of a method, is the path.
    """

    @functools.wraps(read)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except (DseError, OSError):
            raise
        except Exception as error:
            paths = [str(given) for given in args if isinstance(given, str | os.PathLike)]
            raise UnforeseenError(paths[0] if paths else read.__name__, error) from error

    return guarded


def end_with(error: BaseException) -> int:
    """Print the last words of a command that an exception ends; return the exit code."""
    text, code = _last_words(error)
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # a model closed the stream, and no text can be printed
        sys.stderr = None
    _flush_output()
    return code


def _flush_output() -> None:
    """Write the rest of the output, or drop it; Python would try again, and end with 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError:  # a model closed the stream
        sys.stdout = None


def _last_words(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, DseError) and error.exit_code != UNFORESEEN:
        return printable(without_passwords(str(error))), error.exit_code
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: cannot be written or read: {error.strerror or error}"
        return shorten(printable(message), LONGEST_MESSAGE), INPUT
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return f"the output of the command cannot be written: {error.strerror}", INPUT
    line = shorten(str(error) if isinstance(error, DseError) else _one_line(error), 500)
    saved = save_traceback(error)
    where = f"its traceback is in {saved}" if saved else "its traceback could not be saved"
    return printable(without_passwords(f"unforeseen error: {line}; {where}")), UNFORESEEN


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "the memory is not enough"
    message = " ".join(str(error)[: 2 * LONGEST_MESSAGE].split())
    return shorten(": ".join(filter(None, (type(error).__name__, message))), LONGEST_MESSAGE)


def save_traceback(error: BaseException) -> Path | None:
    """Write the traceback of an exception to a new file that only the user can read.

    Passwords in URLs are hidden. None is returned if no file can be written.
    """
    try:
        text = "".join(traceback.format_exception(error))
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
        text = without_passwords(f"{command}\n{shorten(text, _LONGEST_TRACEBACK)}")
        handle, name = tempfile.mkstemp(prefix="dse-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except Exception:  # no memory, no folder, no file descriptor
        return None
    return Path(name)
