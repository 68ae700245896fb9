"""Library functions: those without effect on the program's memory, and those that are refused."""

from __future__ import annotations

from collections.abc import Iterable

from dse.problems import InputError, Problem

# They take pointers, but read and write nothing that the program itself loads or stores.
WITHOUT_EFFECT = frozenset(
    [
        "free",
        "cfree",
        "fclose",
        "fflush",
        "feof",
        "ferror",
        "clearerr",
        "rewind",
        "fseek",
        "ftell",
        "fseeko",
        "ftello",
        "fileno",
        "setvbuf",
        "setbuf",
        "getc",
        "fgetc",
        "getc_unlocked",
        "putc",
        "fputc",
        "putc_unlocked",
        "ungetc",
        "atexit",
        "__cxa_atexit",
        "setlocale",
        "__assert_fail",
        "__cxa_throw",
        "__cxa_begin_catch",
        "__cxa_end_catch",
        "__cxa_rethrow",
        "__cxa_free_exception",
        "__cxa_allocate_exception",
        "__cxa_guard_acquire",
        "__cxa_guard_release",
        "__cxa_guard_abort",
        "_Unwind_Resume",
        "__gxx_personality_v0",
        "__clang_call_terminate",
        "_ZSt9terminatev",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvSt11align_val_t",
        "_ZdlPvmSt11align_val_t",
        "setjmp",
        "_setjmp",
        "sigsetjmp",
        "__sigsetjmp",
        "longjmp",
        "siglongjmp",
        "bsearch",
        "remove",
        "unlink",
        "perror",
    ]
)
_THREADS = ["pthread_create", "thrd_create", "__kmpc_fork_call", "__kmpc_fork_teams"]
_PROCESSES = ["fork", "vfork", "clone", "clone3", "daemon"]
_REPLACED = [
    "execl",
    "execlp",
    "execle",
    "execv",
    "execvp",
    "execvpe",
    "execve",
    "fexecve",
]
_SIGNALS = ["signal", "sigaction", "bsd_signal", "sysv_signal"]


_PARALLEL = frozenset(name for name in _THREADS if name.startswith("__kmpc_"))


def refuse(symbol: str) -> InputError:
    """Return what to say of a program that called what cannot be followed.

    >>> refuse("fork").problems[0].message
    'the program called fork: it makes processes'
    """
    for names, why, remedy in (
        (_THREADS, "it has threads", "profile a build of the program, or a run, with one thread"),
        (_PROCESSES, "it makes processes", "profile the part that runs in one process"),
        (_REPLACED, "it replaces itself by another program", "profile that program"),
    ):
        if symbol in names:
            problem = Problem("", f"the program called {symbol}: {why}", remedy)
            return InputError("profile", [problem])
    raise ValueError(symbol)


def refuse_parallel(symbols: Iterable[str]) -> None:
    """Raise InputError if a program is built for OpenMP, which begins with threads.

    >>> refuse_parallel(["printf", "fork"])
    """
    for symbol in symbols:
        if symbol in _PARALLEL:
            raise refuse(symbol)


def remarks(symbols: Iterable[str]) -> list[str]:
    """Return what the reader of a profile should know of the library functions that are used."""
    handlers = sorted(set(_SIGNALS) & set(symbols))
    return [
        f"signal handlers ({', '.join(handlers)}) count as called by what they interrupt"
    ] * bool(handlers)
