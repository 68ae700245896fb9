"""The command ``dse profile``; everything else is imported when it runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dse.options import FileName, Written, option

if TYPE_CHECKING:
    from dse.profile.document import CacheLevels, Profile

_HEAD = 4096  # bytes that identify a kind of file
_PROFILE = re.compile(rb'\s*\{\s*"format": "dse profile"')
_PAGE = re.compile(rb"Content-Security-Policy.*<title>[^<]* \xc2\xb7 profile</title>", re.DOTALL)
_SHOWING = ("sources", "show", "html", "force", "quiet")  # for a profile that is there already
PARTIAL = 3  # the exit code if the program did not complete and its profile is partial


class ProfileCommand(click.Command):
    """A command whose line ends, behind ``--``, in the profiled program's own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the program's arguments, and all of a compiler's, out of what click reads."""
        if args and args[0] in ("cc", "c++"):
            from dse.profile.compiler.driver import main

            sys.exit(main(args[0] == "c++", args[1:]))
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["arguments"] = tuple(args[at + 1 :])
        try:
            return super().parse_args(ctx, args[:at])
        except click.NoSuchOption as error:
            remedy = "Arguments of the program itself come after --."
            raise click.UsageError(f"{error.format_message()} {remedy}", ctx) from None


@click.command(
    "profile",
    cls=ProfileCommand,
    options_metavar="[OPTIONS]",
    epilog="The program is built and run with your rights: profile what you would run yourself.",
)
@click.argument(
    "sources",
    nargs=-1,
    required=True,
    metavar="SOURCE... [-- ARGUMENT...]",
    type=FileName(),
)
@option(
    "-o",
    "--out",
    "output",
    type=Written(),
    help="Write the profile to this file  [default: NAME.profile.json]",
)
@option("--show", is_flag=True, help="Print hot functions, hot blocks and the transfers.")
@option("--html", type=Written(), help="Also write a page for a browser.")
@option("--force", is_flag=True, help="Replace files that are no profile and no page of one.")
@option(
    "--cache",
    "caches",
    multiple=True,
    metavar="L1,L2[,LINE[,WAYS[,WAYS]]]",
    help="Simulate these caches, such as 32K,4M,64,8,16 (the default) or kenter (the paper's: "
    "32K,4M,64,1,1); may be given several times.",
)
@option("--no-cache", is_flag=True, help="Simulate no cache.")
@option("--no-transfers", is_flag=True, help="Do not follow data between functions.")
@option(
    "--libraries/--no-libraries",
    default=None,
    help="Count machine instructions and libraries in a second run under valgrind: always or "
    "never; else only if libraries may matter.",
)
@option(
    "--critical-path",
    "critical_paths",
    is_flag=True,
    help="Also measure the critical path of each function, in a second run.",
)
@option(
    "--chunk",
    type=int,
    default=1,
    show_default=True,
    help="Follow this number of bytes together, 1 to 64.",
)
@option(
    "-O",
    "--optimisation",
    type=int,
    default=1,
    show_default=True,
    help="Compile with this optimization level, 0 to 3.",
)
@option("--functions", metavar="NAME,...", help="Attribute data and calls to these functions only.")
@option(
    "--region", metavar="F | F:N | F:N-M | F..G", help="Count only in calls of F, or from F to G."
)
@option("--time-limit", type=float, metavar="SECONDS", help="Stop the program after this time.")
@option("--memory-limit", metavar="BYTES", help="Stop the program above this memory, such as 4G.")
@option(
    "--environment",
    multiple=True,
    metavar="NAME",
    help="Pass this variable to the program.",
)
@option(
    "--flag",
    "flags",
    multiple=True,
    help="Pass this to the compiler: --flag=-DSIZE=8.",
)
@option("--link-flag", "link_flags", multiple=True, help="Pass this to the linker, such as -lz.")
@option(
    "--compiler",
    type=click.Choice(["auto", "zig", "clang"]),
    default="auto",
    show_default=True,
    help="Use this compiler.",
)
@option("--quiet", is_flag=True, help="Print no progress and no summary.")
@click.pass_context
def profile(
    ctx: click.Context,
    /,
    sources: tuple[Path, ...],
    output: Path | None,
    show: bool,
    html: Path | None,
    force: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Build SOURCE with instrumentation, run it with ARGUMENT, write what it did as a profile.

    SOURCE is C, C++, assembly, an object, an archive, compile_commands.json, or a program that was
    built with "dse profile cc" (make CC="dse profile cc", cmake -DCMAKE_C_COMPILER=dse-cc). The
    program reads this command's standard input and writes to its standard output. A single profile
    (.json) as SOURCE is shown again without a run.
    """
    from dse.profile.compiler.mixed import DATABASE
    from dse.profile.document import Profile

    if [source.suffix for source in sources] == [".json"] and sources[0].name != DATABASE:
        _refuse_options(ctx)
        _check_targets(sources, None, html, force)
        found = Profile.load(sources[0])
        show = show or html is None
    else:
        target = output or Path(f"{sources[0].stem}.profile.json")
        _check_targets(sources, target, html, force)
        found = _measured(sources, ctx.meta["arguments"], settings, quiet)
        found.save(target)
        if not quiet:
            _summary(found, target)
    if show:
        from dse.profile.show.text import print_profile

        print_profile(found)
    if html:
        from dse.profile.show.page import page

        html.write_text(page(found), encoding="utf-8")
    if not found.run.complete:
        sys.exit(PARTIAL)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options of a measurement for a profile that is only shown."""
    given = [
        param.opts[-1]
        for param in ctx.command.params
        if param.name not in _SHOWING
        and ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    ]
    if given or ctx.meta["arguments"]:
        words = ", ".join(given) or "arguments"
        message = f"A profile is shown without a run, so {words} would have no effect."
        raise click.UsageError(f"{message} Give the program, or --show and --html.", ctx)


def _measured(
    sources: tuple[Path, ...], arguments: tuple[str, ...], settings: dict[str, Any], quiet: bool
) -> Profile:
    from dse.profile.command import USUAL, ProfileOptions, profile_program
    from dse.profile.run.run import Limits, exit_on_signals, report_progress

    caches: tuple[CacheLevels, ...] = tuple(_cache(text) for text in settings["caches"]) or (USUAL,)
    names = settings["functions"]
    memory = settings["memory_limit"]
    options = ProfileOptions(
        sources=sources,
        arguments=arguments,
        caches=() if settings["no_cache"] else caches,
        transfers=not settings["no_transfers"],
        critical_paths=settings["critical_paths"],
        libraries=settings["libraries"],
        chunk=settings["chunk"],
        optimisation=settings["optimisation"],
        functions=tuple(n for name in names.split(",") if (n := name.strip())) if names else None,
        region=settings["region"],
        limits=Limits(settings["time_limit"], _size(memory, "--memory-limit") if memory else None),
        environment=settings["environment"],
        flags=settings["flags"],
        link_flags=settings["link_flags"],
        compiler=settings["compiler"],
    )
    shown = report_progress if not quiet and sys.stderr.isatty() else None
    notice = None if quiet else lambda sentence: click.echo(f"note: {sentence}", err=True)
    with exit_on_signals(shown) as progress:
        return profile_program(options, progress=progress, notice=notice)


def _check_targets(
    sources: Sequence[Path], profile: Path | None, html: Path | None, force: bool
) -> None:
    """Raise InputError before the run, which may be long, if its result could not be written.

    What this command wrote it may write again; other files are replaced with `force`.
    """
    from dse.problems import InputError, Problem

    problems = []
    taken = {source.resolve(): "the source of the profile" for source in sources}
    for name, file in (("-o", profile), ("--html", html)):
        if file is None:
            continue
        if file.is_dir():
            problems.append(Problem(str(file), "is a folder", "give the name of a file"))
        elif not file.parent.is_dir():
            problems.append(Problem(str(file), f"there is no folder {file.parent}"))
        elif what := next((said for one, said in taken.items() if _same(one, file)), ""):
            problems.append(Problem(str(file), f"is {what}", "give another name"))
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            problems.append(Problem(str(file), "may not be written"))
        elif file.is_file() and not force and not _is_own(file):
            problems.append(Problem(str(file), "is there already", "--force replaces it"))
        taken.setdefault(file.resolve(), f"what {name} writes")
    if problems:
        raise InputError("profile", problems)


def _same(one: Path, other: Path) -> bool:
    """Return whether two names are of one file, also by a hard link; neither need exist."""
    if one == other.resolve():
        return True
    return one.exists() and other.exists() and one.samefile(other)


def _is_own(file: Path) -> bool:
    """Return whether this command wrote a file: a profile or its page."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    return _PROFILE.match(head) is not None or _PAGE.search(head) is not None


def _cache(text: str) -> CacheLevels:
    from dse.profile.command import KENTER, USUAL
    from dse.profile.document import CacheLevels

    if text.strip().lower() == "kenter":
        return KENTER
    given: Sequence[str] = text.split(",")
    if not 2 <= len(given) <= 5:
        raise click.BadParameter(
            f"'{text}': give L1,L2 and perhaps LINE,WAYS,WAYS, or kenter", param_hint="--cache"
        )
    sizes = [_size(part, "--cache") for part in given]
    defaults = [0, 0, USUAL.line, USUAL.l1_ways, USUAL.l2_ways]
    l1, l2, line, l1_ways, l2_ways = sizes + defaults[len(sizes) :]
    return CacheLevels(l1=l1, l2=l2, line=line, l1_ways=l1_ways, l2_ways=l2_ways)


_MAX_DIGITS = 9  # of a size before its letter


def _size(text: str, option: str) -> int:
    """Read a number of bytes: 64, 32K, 4M, 1G (powers of 1024)."""
    number, scale = text.strip().upper().removesuffix("B").removesuffix("I"), 1
    for power, letter in enumerate("KMG", 1):
        if number.endswith(letter):
            number, scale = number[:-1], 1024**power
    if not number.isdigit() or len(number) > _MAX_DIGITS:
        raise click.BadParameter(f"'{text}' is not a size such as 64, 32K or 4M", param_hint=option)
    return int(number) * scale


def _summary(found: Profile, target: Path) -> None:
    from dse.model.values import plural, show_percent
    from dse.profile.show.text import describe_library, thread_lines

    run, share = found.run, found.unaccounted.share
    executed = sum(block.executions for block in found.blocks)
    functions = sum(1 for f in found.functions if f.invocations)
    did = f"{plural(executed, 'block execution')} in {plural(functions, 'function')}"
    threads = thread_lines(found)
    first = threads[:1] if found.threads and found.threads.most else []
    lines = [*first, f"{target}: {did}", *(f"  {line}" for line in threads[len(first) :])]
    if not run.complete:
        number = f" {run.signal}" if run.signal else ""
        lines.append(
            f"  partial: the run ended by {run.ended}{number}; counts are those up to then"
        )
    elif run.exit_status:
        lines.append(f"  the program ended with exit status {run.exit_status}")
    if words := describe_library(found):
        lines.append(f"  {words}")
    if share:
        lines.append(
            f"  unaccounted: {show_percent(share)} of the bytes read have an unknown writer"
        )
    if names := [f.name for f in found.unaccounted.functions]:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        lines.append(f"  library functions of unknown effect: {', '.join(names[:5])}{more}")
    lines += [f"  {note}" for note in found.notes if run.complete]
    click.echo("\n".join(lines), err=True)
