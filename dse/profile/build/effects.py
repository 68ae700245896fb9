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
_THREADS = [
    "pthread_create",
    "thrd_create",
    "__kmpc_fork_call",
    "__kmpc_fork_teams",
]
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


def refuse(symbols: Iterable[str]) -> None:
    """Raise InputError if a program uses what cannot be profiled.

    >>> refuse(["printf"])
    """
    called = set(symbols)
    problems = [
        Problem("", f"the program calls {name}: {why}", remedy)
        for names, why, remedy in (
            (_THREADS, "it has threads", "profile a build of the program with one thread"),
            (_PROCESSES, "it makes processes", "profile the part that runs in one process"),
            (_REPLACED, "it replaces itself by another program", "profile that program"),
        )
        for name in names
        if name in called
    ]
    if problems:
        raise InputError("profile", problems)


def remarks(symbols: Iterable[str]) -> list[str]:
    """Return what the reader of a profile should know of the library functions that are used."""
    handlers = sorted(set(_SIGNALS) & set(symbols))
    return [
        f"signal handlers ({', '.join(handlers)}) count as called by what they interrupt"
    ] * bool(handlers)
