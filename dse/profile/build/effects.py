"""Library functions: modelled, harmless to the program's memory, or refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from dse.problems import InputError, Problem
from dse.profile.build.hooks import plain_name

_STATES = ("init", "destroy")
# They take pointers, but read and write nothing that the program itself loads or stores.
WITHOUT_EFFECT = frozenset(
    [
        "cfree",
        "fclose",
        "pclose",
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
        "dlsym",
        "dlclose",
        # objects of the C library that only its functions read
        "pthread_self",
        "pthread_detach",
        "pthread_once",
        "pthread_setspecific",
        *(f"pthread_mutex_{name}" for name in (*_STATES, "lock", "trylock", "unlock")),
        *(f"pthread_mutexattr_{name}" for name in (*_STATES, "settype")),
        *(
            f"pthread_cond_{name}"
            for name in (*_STATES, "wait", "timedwait", "signal", "broadcast")
        ),
        *(f"pthread_rwlock_{name}" for name in (*_STATES, "rdlock", "wrlock", "unlock")),
        *(f"pthread_barrier_{name}" for name in (*_STATES, "wait")),
        *(f"pthread_spin_{name}" for name in (*_STATES, "lock", "trylock", "unlock")),
        *(f"pthread_attr_{name}" for name in (*_STATES, "setdetachstate", "setstacksize")),
        *(f"sem_{name}" for name in (*_STATES, "wait", "trywait", "timedwait", "post")),
        *(f"mtx_{name}" for name in (*_STATES, "lock", "trylock", "unlock")),
        *(f"cnd_{name}" for name in (*_STATES, "wait", "timedwait", "signal", "broadcast")),
        "_ZNSt3__15mutex4lockEv",
        "_ZNSt3__15mutex6unlockEv",
        "_ZNSt3__15mutex8try_lockEv",
        "_ZNSt3__15mutexD1Ev",
        "_ZNSt3__118condition_variable4waitERNS_11unique_lockINS_5mutexEEE",
        "_ZNSt3__118condition_variable10notify_oneEv",
        "_ZNSt3__118condition_variable10notify_allEv",
        "_ZNSt3__118condition_variableD1Ev",
        "_ZNSt3__16thread4joinEv",
        "_ZNSt3__16thread6detachEv",
        "_ZNSt3__16threadD1Ev",
    ]
)


_RUNTIME = Path(__file__).parent / "runtime"


def list_modelled_functions() -> tuple[str, ...]:
    """Return the library functions whose reads and writes the runtime knows."""
    listed = [
        (_RUNTIME / f"{name}.h").read_text() for name in ("foreign", "files", "others", "refused")
    ]
    return tuple(
        re.findall(r"^(?:FOREIGN|REFUSED|WATCHED)\((\w+)\)", "\n".join(listed), re.MULTILINE)
    )


def has_unknown_effects(symbol: str, modelled: Collection[str]) -> bool:
    """Return whether a library function with pointers may touch memory in unknown ways.

    >>> has_unknown_effects("regexec", {"memcpy"}), has_unknown_effects("memcpy", {"memcpy"})
    (True, False)
    """
    name = plain_name(symbol)
    return name not in modelled and name not in WITHOUT_EFFECT


_PARALLEL = ["__kmpc_fork_call", "__kmpc_fork_teams"]
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
_COMMANDS = ["system", "popen", "posix_spawn", "posix_spawnp"]
_SIGNALS = ["signal", "sigaction", "bsd_signal", "sysv_signal"]


_NUMBERED = ["syscall"]  # by its number it makes any of these


def refuse_function(symbol: str) -> InputError:
    """Return the error for a program that called a function that no profile can follow.

    >>> refuse_function("fork").problems[0].message
    'the program called fork: it makes processes'
    """
    for names, why, remedy in (
        (_PARALLEL, "it has threads of OpenMP", "build the program without -fopenmp"),
        (_PROCESSES, "it makes processes", "profile the part that runs in one process"),
        (_REPLACED, "it replaces itself by another program", "profile that program"),
        (
            _NUMBERED,
            "it makes a thread or a process, or runs another program, by its number",
            "profile the part that runs in one process",
        ),
    ):
        if symbol in names:
            problem = Problem("", f"the program called {symbol}: {why}", remedy)
            return InputError("profile", [problem])
    raise ValueError(symbol)


def refuse_library_thread(function: str) -> InputError:
    """Return the error for a library whose thread called a function of the program.

    >>> refuse_library_thread("work").problems[0].message
    'a thread that a library started called work: such threads cannot be left out of the profile'
    """
    message = (
        f"a thread that a library started called {function}: such threads cannot be left out "
        "of the profile"
    )
    remedy = "build the library with dse-cc too, or profile a run in which it starts no threads"
    return InputError("profile", [Problem("", message, remedy)])


def refuse_parallel(symbols: Iterable[str]) -> None:
    """Raise InputError if a program calls library functions of OpenMP, which begin with threads.

    >>> refuse_parallel(["printf", "fork"])
    """
    for symbol in symbols:
        if symbol in _PARALLEL:
            raise refuse_function(symbol)


def warn_before_run(symbols: Iterable[str]) -> list[str]:
    """Return what to say before a run of a program that could call what is refused.

    >>> warn_before_run(["printf", "fork"])
    ['the program could call fork (it makes processes): it ends there, with nothing measured']
    """
    used = set(symbols)
    return [
        f"the program could call {', '.join(called)} ({why}): it ends there, with nothing measured"
        for names, why in (
            (_PROCESSES, "it makes processes"),
            (_REPLACED, "it replaces itself by another program"),
        )
        if (called := sorted(used & set(names)))
    ]


def note_library_functions(calls: Mapping[str, int]) -> list[str]:
    """Return what the reader of a profile should know of library functions, by their calls."""
    found = []
    if handlers := sorted(set(_SIGNALS) & set(calls)):
        names = ", ".join(handlers)
        found.append(f"signal handlers ({names}) count as called by the interrupted function")
    if commands := [name for name in _COMMANDS if calls.get(name)]:
        names = ", ".join(commands)
        found.append(f"other programs ran ({names}): the profile does not contain them")
    if calls.get("syscall"):
        found.append(
            "system calls by number (syscall): the profile does not count their reads and writes"
        )
    return found
