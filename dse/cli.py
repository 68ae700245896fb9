"""The command line; it, options and the clis of profile and fit import click.

Each command imports its packages when it runs.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import json
import math
import os
import signal
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dse.boundary import INPUT, INTERRUPTED, UNMET, end_with, reader
from dse.options import FileName, Written, option
from dse.problems import LONGEST_MESSAGE, shorten

if TYPE_CHECKING:
    from dse.search.cluster import Cluster

_PATH = FileName()
_YOUNG_OBJECTS = 50_000  # before the collector looks: imports make as many, and none is garbage
_TIMEOUT_REPEAT = 0.5  # seconds; a person does not press Ctrl-C again that quickly
_TARGET_HELP = (
    'Find the designs that meet a target, such as "speedup >= 5 and area < 100 kLUT". '
    "Several targets must all be met. They replace the study's [target]."
)
_LEAST_HELP = "Find the minimum of this objective among the designs that meet the target."
_WHERE_HELP = (
    "Explain the Nash design of the designs of the front that meet a condition, such as "
    '"area < 200 kLUT and lanes > 1".'
)
_VERBOSE_HELP = "Print all that is known, not the short answer."
_JSON_HELP = 'Print data for scripts, as "dse schema output" describes.'
_DESIGN_HELP = "Explain this design: its number in front.csv, or nash. May be given several times."


def _numbers(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[Any]:
    """Return the numbers of designs; None for the Nash design."""
    for text in texts:
        if text != "nash" and not text.isdecimal():
            message = f"'{text}' is neither the number of a design, as in front.csv, nor nash"
            raise click.BadParameter(message, ctx, param)
    return [None if text == "nash" else int(text) for text in texts]


_BY_USE = (
    "new", "check", "run", "explain", "report", "open", "compare", "certify", "status",
    "profile", "fit", "list", "schema",
)  # fmt: skip
_ELSEWHERE = {"profile": "dse.profile.cli", "fit": "dse.fit.cli"}


class _Commands(click.Group):
    """The commands in the order of their use; some are imported at their use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_BY_USE]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in _ELSEWHERE:
            self.add_command(getattr(importlib.import_module(_ELSEWHERE[name]), name))
        command = super().get_command(ctx, name)
        if command is not None:  # its first sentence, whole: click cuts at a width
            command.short_help = " ".join((command.help or "").partition("\n\n")[0].split())
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="dse-accelerators", prog_name="dse")
def commands() -> None:
    """Explore the design space of a hardware accelerator.

    Check a study with "dse check studies/crypto.toml", run it with "dse run studies/crypto.toml",
    look at runs/crypto/report.html, and ask with "dse explain runs/crypto --design 17".
    """


@commands.command("run")
@click.argument("study", type=_PATH)
@option("-o", "--out", type=Written(), help="Write the run into this folder  [default: runs/NAME]")
@option("--target", "targets", multiple=True, metavar="TEXT", help=_TARGET_HELP)
@option("--least", metavar="OBJECTIVE", help=_LEAST_HELP)
@option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help="Limit the seconds of the search. The result is written afterwards.",
)
@option(
    "--workers",
    type=click.IntRange(1, 1024),
    help="Use these threads  [default: all cores]",
)
@option("--dask", metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://HOST:8786.")
@option("--fresh", is_flag=True, help="Start again if the folder holds a run of the study.")
@option("--quiet", is_flag=True, help="Print no progress and no summary.")
@option("--verbose", is_flag=True, help=_VERBOSE_HELP)
@option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def run_command(
    study: Path,
    out: Path | None,
    targets: tuple[str, ...],
    least: str | None,
    seconds: float | None,
    workers: int | None,
    dask: str | None,
    fresh: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run STUDY and write the report, the tables and the storage into a run folder.

    A run that was cut short continues where it stopped. A finished run of the same study is not
    repeated. An edited study takes the folder. Its old run moves to NAME.1. The exit code is 3 if
    no design meets the target.
    """
    from dse.result.folder import MARKER, REPORT, SUMMARY, default_folder, read_answer, read_json
    from dse.result.lease import is_finished_run_of
    from dse.run import run
    from dse.study.study import read_study
    from dse.terminal import Terminal

    _keep_freed_memory()
    if least and not targets:
        raise click.UsageError('--least goes with --target "OBJECTIVE >= NUMBER"')
    if workers and dask:
        raise click.UsageError("--workers goes without --dask: a cluster has its own workers")
    target = {"reach": " and ".join(targets), **({"least": least} if least else {})}
    resolved = reader(read_study)(study, target if targets else None, seconds)
    folder = out or default_folder(resolved.name)
    place = folder.absolute()  # a model may change where paths begin
    terminal = Terminal(quiet or as_json)
    if not fresh and is_finished_run_of(folder, resolved.digest, resolved.plan.timeout or math.inf):
        terminal.say(f"{folder} holds a finished run of this study; --fresh repeats it")
    asides: list[Path] = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _end)
    try:
        with _connected(dask) as cluster, terminal.running(resolved) as watch:
            result = run(
                resolved, folder, workers, watch, cluster, fresh, asides.append, terminal.begins
            )
    except KeyboardInterrupt:
        when = "" if (place / MARKER).exists() else " before anything was evaluated"
        click.echo(f"interrupted{when}", err=True)
        sys.exit(INTERRUPTED)
    finally:
        for aside in asides:
            if aside.exists():  # a run without a result puts it back
                now = folder.parent / aside.name
                terminal.say(f"{folder} held another run or study: that is {now} now")
    if as_json:
        click.echo(json.dumps(read_json(place / SUMMARY), indent=2))
    elif verbose:
        terminal.whole_summary(result, folder / REPORT, read_answer(place))
    else:
        terminal.summary(result, folder / REPORT, read_answer(place))
    if result.certificate.stopped == "interrupted":
        sys.exit(INTERRUPTED)
    if result.target is not None and not result.target.designs:
        sys.exit(UNMET)


def _connected(address: str | None) -> AbstractContextManager[Cluster | None]:
    """Connect to Dask's scheduler if there is an address."""
    if address is None:
        return nullcontext()
    from dse.api.cluster import connected

    return connected(address)


def _keep_freed_memory() -> None:
    """Make glibc keep freed memory: the pages of each chunk's columns would else be mapped again.

    Threads spend a tenth of a short run on it. The numbers are glibc's, of M_MMAP_THRESHOLD and
    M_TRIM_THRESHOLD. Other C libraries have no such function.
    """
    with suppress(AttributeError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(-3, 1 << 25)
        set_option(-1, 1 << 26)


def _end(*_: Any) -> NoReturn:
    """End the run cleanly at the first signal, and at once at the second: a model may hang."""
    again = partial(_end_again, time.monotonic())
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, again)
    raise KeyboardInterrupt


def _end_again(first: float, *_: Any) -> None:
    """End the run at once; `timeout` signals a process twice, directly and through its group."""
    if time.monotonic() - first > _TIMEOUT_REPEAT:
        os.write(2, b"stopped; what was kept is there, and the next run goes on from it\n")
        os._exit(INTERRUPTED)


@commands.command("new")
@click.argument("study", type=_PATH)
@option("--from", "profile_", metavar="PROFILE", type=_PATH, help="Study this profile's program.")
@option(
    "--question",
    type=click.Choice(["communication", "partition", "offload", "system"]),
    help="Ask this question about the program. communication (the default): which functions to "
    "accelerate. partition: which basic blocks to move, and where the accelerator joins the memory "
    "hierarchy. offload: which function, behind which interface, shared by how many threads. "
    "system: which functions get engines, behind one link and within one area.",
)
@option("--kernel", metavar="NAME", help="Study this kernel, such as aes: dse list kernels.")
@option("--host", metavar="NAME", help="Use this host, such as sparc-t4: dse list platforms.")
@option(
    "--engine",
    "engines",
    metavar="NAME",
    multiple=True,
    help="Compare this engine: dse list pipelined_engines. May be given several times  "
    "[default: all that fit]",
)
@option(
    "--interface",
    "interfaces",
    metavar="NAME",
    multiple=True,
    help="Compare this interface: dse list interfaces. May be given several times  "
    "[default: all that any accelerator may use]",
)
@option("--example", metavar="NAME", help="Copy this shipped study, such as crypto.")
@option("--force", is_flag=True, help="Replace STUDY if it exists.")
def new_command(
    study: Path,
    profile_: Path | None,
    question: str | None,
    kernel: str | None,
    host: str | None,
    engines: tuple[str, ...],
    interfaces: tuple[str, ...],
    example: str | None,
    force: bool,
) -> None:
    """Write a draft of STUDY, a TOML file that runs without changes.

    The draft uses the profile of a program, or a kernel of the catalogs. If you give neither, it is
    a small example. Its comments list the assumptions and the sources of the input values.

    \b
    dse new aes.toml
    dse new aes.toml --example crypto
    dse new aes.toml --kernel aes --interface axi-dma --interface pcie-4-x8
    dse new fft.toml --from fft.profile.json
    dse new fft.toml --from fft.profile.json --question partition
    """  # noqa: D301
    from dse.result.files import write_bytes, write_text
    from dse.study import draft

    of_kernel = {"--host": host, "--engine": engines, "--interface": interfaces}
    draft.check_options(kernel, profile_, example, question, of_kernel)
    draft.check_target(study, force)
    if kernel is not None:
        written = draft.from_kernel(study, kernel, host, engines, interfaces)
    elif profile_ is not None:
        written = draft.from_profile(study, profile_, question)
    elif example is not None:
        written = draft.from_example(study, example, force)
    else:
        written = draft.example(study)
    for place, content in written.files.items():
        (study.parent / place).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(study.parent / place, content)
    write_text(study, written.text)
    click.echo(f"{study}: {written.about}")
    click.echo(f"next: dse check {study}, then dse run {study}")


@commands.command("check")
@click.argument("study", type=_PATH)
@option("--verbose", is_flag=True, help=_VERBOSE_HELP)
@option("--graph", is_flag=True, help="Also print the model graph.")
@option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def check_command(study: Path, verbose: bool, graph: bool, as_json: bool) -> None:
    """Check STUDY without running it: list every problem, or describe the run.

    Its models run on a sample of its designs, as at the start of a run.
    """
    from dse.api import load
    from dse.run import check_contract
    from dse.search.formulation import check_formulation
    from dse.study.execution import choose_search
    from dse.terminal import Terminal

    resolved = load(study)
    notes = check_contract(resolved, seconds=5.0)
    formulation = check_formulation(resolved.evaluator, str(study), seconds=5.0)
    terminal, planned = Terminal(), choose_search(resolved)
    found = (*notes.values(), *formulation)
    if as_json:
        from dse.terminal.documents import check_data

        click.echo(json.dumps(check_data(planned, found), indent=2))
        return
    if verbose:
        terminal.whole_plan(planned, found)
    else:
        terminal.plan(planned, found)
    if graph:
        terminal.model_graph(resolved.evaluator)


@commands.command("explain")
@click.argument("run", type=_PATH)
@option("--design", "designs", multiple=True, callback=_numbers, help=_DESIGN_HELP)
@option("--where", metavar="FILTER", help=_WHERE_HELP)
@option("--verbose", is_flag=True, help=_VERBOSE_HELP)
@option("--json", "as_json", is_flag=True, help=_JSON_HELP)
@option("--emit", type=Written(), help="Write the design's dispatch rule: C, C++, Python or Rust.")
@option("--force", is_flag=True, help="Replace the file of --emit if it exists.")
def explain_command(
    run: Path,
    designs: list[int | None],
    where: str | None,
    verbose: bool,
    as_json: bool,
    emit: Path | None,
    force: bool,
) -> None:
    """Explain a design of RUN: its limits, its robustness, and the best next change.

    By default, it is the recommended design. With --where, it is the Nash design of the
    designs on the front that the filter selects.
    """
    from dse.api import load_result
    from dse.explain.explanation import explain
    from dse.explain.recommendation import assess_changes, named_designs
    from dse.explain.switch_points import SECONDS
    from dse.problems import InputError, Problem
    from dse.result.folder import FINISHED, load_copied_study
    from dse.terminal import Terminal

    result = load_result(run)
    study = load_copied_study(run)

    def nash() -> int:
        return int(str(result.nash().name))

    numbers = [nash() if number is None else number for number in designs]
    if where is not None:
        front = result.where(where)
        if not len(front):
            message = f"none of the {result.front.size} on the front satisfies '{where}'"
            raise InputError(result.name, [Problem("--where", message, "widen the filter")])
        numbers.append(int(str(front.nash().name)))
    numbers = list(dict.fromkeys(numbers)) or named_designs(study, result)[:1] or [nash()]
    if emit is not None:
        if len(numbers) > 1:
            problem = Problem("--emit", "takes one design, but several are named", "name one")
            raise InputError("dse explain", [problem])
        from dse.fit.design_rule import write_design_rule

        click.echo(write_design_rule(study, result, numbers[0], emit, force=force))
        return
    explanations = explain(study, result, numbers)
    own = (named_designs(study, result) or [-1])[0]
    seconds = math.inf if verbose or as_json else SECONDS
    changes = assess_changes(study, result, seconds=seconds) if own in numbers else ()
    if as_json:
        from dse.terminal.documents import explain_data

        of_own = {own: {each.key: asdict(each) for each in changes}}
        click.echo(json.dumps(explain_data(result, explanations, of_own), indent=2))
        return
    terminal = Terminal()
    if result.certificate.stopped not in FINISHED:
        terminal.note(f"the run was cut short. {result.certificate.statement}")
    for explanation in explanations:
        mine = changes if explanation.design == own else ()
        if verbose:
            terminal.whole_explanation(result, explanation, mine)
        else:
            terminal.explanation(study, result, explanation, mine)


@commands.command("report")
@click.argument("run", type=_PATH)
def report_command(run: Path) -> None:
    """Write the report of RUN again from its tables."""
    from dse.api import load_result
    from dse.result.folder import REPORT, load_copied_study
    from dse.run import report_into

    report_into(load_copied_study(run), load_result(run), run, thorough=True)
    click.echo(f"{run / REPORT}")


@commands.command("open")
@click.argument("study", metavar="STUDY_OR_RUN", type=_PATH)
@option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Use this port  [default: a free one]"
)
def open_command(study: Path, port: int) -> None:
    """Open STUDY_OR_RUN as a page that follows: change an input, an option or a limit.

    The page is served on this machine only, at an address that `dse` prints, until Ctrl-C. `dse`
    searches again when you change a value on the page or save the study file. The study file and
    the run folder stay as they are.
    """
    from dse.live.server import serve

    def announce(address: str) -> None:
        click.echo(f"{address}\nCtrl-C ends it")

    _keep_freed_memory()
    serve(study, port, announce)


@commands.command("certify")
@click.argument("run", type=_PATH)
@option(
    "--designs",
    type=click.IntRange(1),
    default=200_000,
    show_default=True,
    help="Check this number of random designs.",
)
@option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed random designs.")
@option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def certify_command(run: Path, designs: int, seed: int, as_json: bool) -> None:
    """Test the certificate of RUN; exit with 1 if it is refuted or missing.

    `dse` evaluates the front again, here and in a fresh process. Then it compares other designs
    with the front: random ones, neighbours of the front, and extreme values.
    """
    from dse.api import load_result
    from dse.explain.certification import certify
    from dse.result.folder import load_copied_study
    from dse.terminal import Terminal
    from dse.terminal.documents import certify_data

    result = load_result(run)
    verdict = certify(run, load_copied_study(run), result, designs, seed)
    if as_json:
        click.echo(json.dumps(certify_data(result, verdict), indent=2))
    else:
        Terminal().verdict(result, verdict)
    if verdict.refuted or verdict.refutation is None:
        sys.exit(1)


@commands.command("compare")
@click.argument("first", type=_PATH)
@click.argument("second", type=_PATH)
@option(
    "-o",
    "--out",
    type=Written(),
    help="Write the page into this file  [default: FIRST-SECOND.html, next to SECOND]",
)
@option("--json", "as_json", is_flag=True, help="Print data for scripts, and write no page.")
def compare_command(first: Path, second: Path, out: Path | None, as_json: bool) -> None:
    """Compare the fronts of two runs with the same objectives, on the terminal and on a page."""
    from dse.api import compare, load_result
    from dse.report.comparison import write_comparison
    from dse.terminal import Terminal

    results = load_result(first), load_result(second)
    comparison = compare(*results, str(first), str(second))
    if as_json:
        click.echo(json.dumps(comparison.data(), indent=2))
        return
    page = out or second.parent / f"{first.resolve().name}-{second.resolve().name}.html"
    write_comparison(comparison, *results, page)
    Terminal().comparison(comparison)
    click.echo(f"{page}")


@commands.command("status")
@click.argument("run", type=_PATH)
@option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def status_command(run: Path, as_json: bool) -> None:
    """Show the progress of RUN, a run folder or a study file (its folder is runs/NAME)."""
    from dse.model.values import json_value
    from dse.result.folder import default_folder
    from dse.result.progress import read_status
    from dse.study.study import read_study
    from dse.terminal import Terminal

    is_folder = run.is_dir() or (not run.exists() and run.suffix != ".toml")
    status = read_status(run if is_folder else default_folder(read_study(run).name))
    if as_json:
        click.echo(json.dumps(json_value(asdict(status)), indent=2))
    else:
        Terminal().status(status)


@commands.command("list")
@click.argument("name", required=False)
@option(
    "--where",
    metavar="CONDITION",
    help='Show the entries of the catalog NAME that satisfy a condition, such as "kernel = AES and '
    'lane_area < 5 kLUT".',
)
@option("--json", "as_json", is_flag=True, help="Print the entries of the catalog NAME as JSON.")
def list_command(name: str | None, where: str | None, as_json: bool) -> None:
    """List models and catalogs; with NAME, show their content.

    NAME is a model, a quantity, a catalog or an entry, or a part of a name. Models show their
    inputs and outputs, and catalogs show their entries. An entry shows the source of each value.
    """
    from dse.study.catalog import list_catalogs, list_models
    from dse.terminal import Terminal

    if where is not None or as_json:
        from dse.study.catalog import catalog_data, open_catalog
        from dse.study.catalog_filter import filter_catalog

        catalog = open_catalog(name or "")
        catalog = filter_catalog(catalog, where) if where is not None else catalog
        if as_json:
            click.echo(json.dumps(catalog_data(catalog), indent=2))
        else:
            Terminal().entries(catalog, where or "")
        return
    listed = list_models(name), list_catalogs(name)
    Terminal().listing(*listed, name)
    if not any(listed):
        sys.exit(INPUT)


@commands.command("schema")
@click.argument(
    "what", type=click.Choice(["study", "table", "system", "profile", "output"]), default="study"
)
def schema_command(what: str) -> None:
    """Print the JSON Schema of a file or of the output of commands.

    The files are a study, a study of a table or a system, and a profile. output is the data that
    commands print with --json.
    """
    if what == "profile":
        from dse.profile.document import Profile

        click.echo(json.dumps(Profile.model_json_schema(), indent=2))
        return
    if what == "output":
        from dse.terminal.documents import output_schema

        click.echo(json.dumps(output_schema(), indent=2))
        return
    from dse.study.schema import json_schema

    click.echo(json.dumps(json_schema(what), indent=2))


def main() -> None:
    """Run the command line.

    Exit codes: 0 done; 1 a model's error, or a certificate that is refuted or missing; 2 bad input;
    3 no design meets the target, or the profiled program did not complete; 70 an unforeseen error;
    130 Ctrl-C.
    """
    gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
    for stream in (sys.stdout, sys.stderr):  # a terminal without β shows "?", not an error
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        commands(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(end_with(KeyboardInterrupt()))
    except click.ClickException as error:
        if len(text := error.format_message()) > LONGEST_MESSAGE:
            click.echo(f"Error: {shorten(text, LONGEST_MESSAGE)}", err=True)
        else:
            error.show()
        sys.exit(INPUT)
    except SystemExit:
        raise
    except BaseException as error:  # a model may raise any class, such as GeneratorExit
        sys.exit(end_with(error))
