"""Drafts from a program's profile whose designs accelerate functions."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from dse.model.values import plural, show_apart, show_number
from dse.problems import InputError, Problem
from dse.profile.document import Profile, Threads
from objectives.communication import Setting, kept_table, load_dataflow, verdicts
from objectives.communication.acceleration import Areas, split_areas
from objectives.communication.dataflow import MAX_CANDIDATES, Dataflow, Dataflows
from objectives.communication.quantities import Accelerators, AreaCosts
from objectives.communication.split import outermost_contexts, split_work
from objectives.communication.verdict import Verdict
from objectives.drafts.text import (
    add_gaps,
    comment_list,
    comment_origin,
    comment_speedup,
    comment_threads,
    describe_origin,
    fill_template,
    make_comment,
    quote_text,
    show_percent,
)
from objectives.programs import Program, load_program
from objectives.programs.tables import FUNCTIONS
from objectives.views import ASSUMED

_TOGETHER = 10
"""Functions of which a draft chooses subsets: 1,024 of them, and each further one doubles these."""
_HOST = {name: getattr(ASSUMED.setting, name) for name in ("byte_time", "overhead", "latency")}
_CHEAPEST = {"overhead": 20.0, "latency": 4.0}
"""Cycles of a call: stream-port of spaces/interfaces.toml, the cheapest interface of a template."""
_LINK = {"overhead": 2000.0, "latency": 1000.0}
"""Cycles of a call in the template of a system."""
_COSTS = {
    name: f"{getattr(ASSUMED.setting, name):g}"
    for name in ("instruction_time", "byte_time", "overhead", "latency", "latency_per_byte")
}
"""Blanks of the templates."""
_THREADS, _BUFFER_AREA = 8, 0.00799  # of the template; LUT/bit of its block RAM
_AREAS = {"instruction_area": 32.0, "memory_area_per_bit": 1 / 64, "bank_area": 500.0}
"""Of the templates."""
_ATTACHED = 50_000.0
"""LUT of an interface: pcie-4-x8 of spaces/interfaces.toml has 47,400."""
_LARGEST_DEVICE = 1_221_600.0
"""LUT of a XC7V2000T, the largest device of the 7 series: 305,400 slices of 4 (Xilinx DS180)."""
_ALONE = 12
"""Functions of which a draft chooses one: as many parts as a study takes."""
_KEPT, _MUCH = 12, 0.05
"""Functions of which a draft says why they stay on the host: the first, and all with this part of
the time."""
_BYTES = f"""communication_factor = 8          # accelerators' stores over the host's: assumption
byte_time = {_COSTS["byte_time"]}                  # of the host: a word of 4 B a cycle: assumption
latency_per_byte = {_COSTS["latency_per_byte"]}              # of a bus of 32 bit: assumption"""
_VIEWS = {
    "view_model": """
    "objectives.views:cached_run",                      # the blocks, for the other questions
""",
    "view_section": """
    "objectives.views:questions",
""",
}
"""Blanks of a study that shows the other questions: its models and sections."""
_NEEDS = "transfers", "code"
_CLOCK = 1e9  # of the template for shared engines, in Hz
_SOME = 0.01  # part of the time
_LEAST_GAIN = 0.05  # a smaller one does not justify hardware: assumption
_KERNELS = 8
"""Functions that are kernels of a draft of a system."""
_WHOLE = 0.9  # of the time: a function that is nearly the whole program
_PARTS = 0.5  # of the time: kernels that replace such a function
_SHARE = 25  # the required rate is one part of so many of the rate that a thread has on the host


class Place(NamedTuple):
    """Where a function is in the source; line 0 if it is not known."""

    file: str
    line: int


@dataclass(frozen=True)
class Source:
    """A program of which functions could move."""

    program: Dataflow
    origin: str
    """In a sentence: what was profiled, and how."""
    places: dict[str, Place]
    """Of the functions, if the profile has them."""
    threads: Threads | None = None
    """The threads that the profile does not contain."""

    def said(self, verdict: Verdict) -> str:
        """Return what is to be known of a function before it is moved."""
        place = self.places.get(verdict.function, Place("", 0))
        at = f"{place.file}:{place.line}; " if place.file and place.line else ""
        back = f", {verdict.callbacks}" if verdict.callbacks else ""
        calls = f"{verdict.calls:,.0f} call{'' if verdict.calls == 1 else 's'}"
        share = f"{show_percent(verdict.share)} of the {self.measure}"
        limit = f", in hardware at most about {show_number(verdict.own_limit, 3)} times as fast"
        limited = limit if math.isfinite(verdict.own_limit) else ""
        return f"{at}{share} with all that it calls, {calls}{back}{limited}"

    @property
    def measure(self) -> str:
        """The measure of work: instructions if the profile has no more."""
        if self.threads:
            return "profiled thread's time"
        return "instructions" if "transfers" in self.program.lacks else "time"


def communication(profile: Path, named: str, name: str) -> str:
    """Return a study of which functions to accelerate, alone or together, with which stores.

    `named` is how the study `name` names the profile: relative to its folder. InputError if it is
    not a profile of one program, or no function could move.
    """
    source = make_source(profile)
    if source.program.lacks:
        return _without_area(source, named, name)
    best = Setting(32.0, 32.0, medium_factor=4.0, latency_per_byte=1.0, **_HOST)
    judged, brakes = _rate(source.program, best)
    most = _best(judged, _TOGETHER)
    areas = _engine_areas(source.program, most)
    text = fill_template(
        "communication",
        **_common_blanks(source, named, name, judged, most),
        **_other_questions(profile, named),
        kept=_kept(source.program, best, brakes),
        least_speedup=_require_gain(_select_fitting(most, areas), 0.25, "a quarter"),
        area=_limit_area(sum(areas), "the functions above, each with an engine of factor 16"),
    )
    return add_gaps(text, source.threads, source.program)


def _other_questions(profile: Path, named: str) -> dict[str, str]:
    """Return the blanks for the other questions: empty for a profile without caches."""
    cached = load_program(profile, lambda p, _: isinstance(p, Profile) and bool(p.settings.caches))
    if not cached:
        return {"view_model": "", "view_section": "", "profiles": ""}
    comment = "# the blocks of the program, for the other questions in the report"
    return {**_VIEWS, "profiles": f"\nprofiles = {quote_text(named)}    {comment}"}


def _without_area(source: Source, named: str, name: str) -> str:
    """Return a study of a profile without code, and perhaps without transfers."""
    program = source.program
    bounds = "transfers" in program.lacks
    setting = Setting(8.0, 8.0, latency_per_byte=1.0, **_HOST)
    judged, brakes = _rate(program, setting)
    most = _best(judged, _TOGETHER)
    (unknown,) = Dataflows((program,)).unknown()
    about = "The largest speedup of functions in hardware" if bounds else "Functions in hardware"
    medium = '\n[[objective]]\nminimize = "medium_bytes"         # over the bus\n'
    return fill_template(
        "counts",
        **_common_blanks(source, named, name, judged, most),
        kept=_kept(program, setting, brakes),
        about=quote_text(about),
        unknown=unknown,
        measure=source.measure,
        bytes="communication_factor = 1          # it has no effect without transfers"
        if bounds
        else _BYTES,
        medium="" if bounds else medium,
        least_speedup=_require_gain(most, 0.25, "a quarter"),
    )


def offload(profile: Path, named: str, name: str) -> str:
    """Return a study of which function to accelerate as an engine that many threads share.

    Parameters and errors are as of :func:`communication`.
    """
    source = make_source(profile, _NEEDS)
    program = source.program
    cycles = float(program.computation.sum()) + _HOST["byte_time"] * program.total_bytes
    setting = Setting(64.0, 32.0, latency_per_byte=0.25, **_HOST)
    judged, brakes = _rate(program, setting, _CHEAPEST)
    most = _best(judged, _ALONE)
    alone = _CLOCK / cycles
    asked = alone / _SHARE * min(most[0].speedup, 1.0)  # also if an accelerator is a brake
    largest = max((v.granularity for v in most if v.granularity > 0), default=1.0)
    buffered = 2 ** math.ceil(math.log2(max(largest, 64.0)))
    buffers = 8 * buffered * _THREADS * _BUFFER_AREA
    per_byte = 8.0 * (_THREADS - 1) * _AREAS["memory_area_per_bit"]  # of contexts
    areas = [
        2.0 * float(each.area) + per_byte * float(each.working_set) + _ATTACHED + buffers
        for each in _areas_of_engines(program, most)
    ]
    text = fill_template(
        "offload",
        **_common_blanks(source, named, name, judged, most),
        kept=_kept(program, setting, brakes),
        run_rate=quote_text(f"{asked:.2g} Hz"),
        alone=f"{alone:.2g}",
        buffered=quote_text(f"{buffered} B"),
        least_speedup=_require_gain(_select_fitting(most, areas), 0.1, "a tenth"),
        area=_limit_area(
            max(areas),
            "an interface, two engines of factor 16, contexts and buffers of all threads",
        ),
    )
    return add_gaps(text, source.threads, program)


def system(profile: Path, named: str, name: str) -> str:
    """Return a study of the functions that get engines on one chip.

    Parameters and errors are as of :func:`communication`.
    """
    source = make_source(profile, _NEEDS)
    program = source.program
    cycles = float(program.computation.sum()) + _HOST["byte_time"] * program.total_bytes
    setting = Setting(16.0, 32.0, latency_per_byte=0.6, **_HOST)
    judged, brakes = _rate(program, setting, _LINK)
    parts = [verdict for verdict in judged if verdict.share < _WHOLE]
    chosen = _apart(program, _best(parts, MAX_CANDIDATES)) if parts else []
    if sum(verdict.share for verdict in chosen) < _PARTS:
        chosen = _apart(program, _best(judged, MAX_CANDIDATES))
    text = fill_template(
        "system",
        **_common_blanks(source, named, name, judged, chosen),
        kept=_kept(program, setting, brakes),
        kernels="\n".join(_kernel(source, verdict) for verdict in chosen),
        area=_limit_area(
            sum(_engine_areas(program, chosen)) + _ATTACHED,
            "an interface, and an engine of factor 16 for each kernel",
        ),
        run_rate=quote_text(f"{float(f'{_CLOCK / cycles:.2g}'):g} Hz"),
    )
    return add_gaps(text, source.threads, program)


def _apart(program: Dataflow, judged: Sequence[Verdict]) -> list[Verdict]:
    """Return functions of which none calls another, the most beneficial first."""
    chosen: list[Verdict] = []
    for verdict in judged:
        own = program.position(verdict.function)
        others = [program.position(other.function) for other in chosen]
        inside = program.inside
        if not any(inside[own, other] or inside[other, own] for other in others):
            chosen.append(verdict)
    return chosen[:_KERNELS]


def _kernel(source: Source, verdict: Verdict) -> str:
    """Return the tables of a function as a kernel of a system."""
    key = re.sub(r"\W+", "_", verdict.function).strip("_") or "kernel"
    key = f"k_{key}" if key[0].isdigit() else key
    lines = [
        f"[kernel.{key}]",
        f"about = {quote_text(source.said(verdict))}",
        f'space.accelerated = {{ subsets = "selection", of = [{quote_text(verdict.function)}],'
        " least = 1, most = 1 }",
    ]
    return "\n".join(lines) + "\n"


def make_source(profile: Path, needs: Collection[str] = ()) -> Source:
    """Return the program of a profile that has the counts `needs`, such as ``"transfers"``.

    InputError if it is not a profile of one program, it lacks counts, or no function could move.
    """
    check_one_program(profile)
    dataflow = load_dataflow(profile)
    if lacks := [name for name in needs if name in dataflow.lacks]:
        message = f"the profile has no {' and no '.join(lacks)}, which this question needs"
        remedy = "profile the program with: dse profile SOURCE -o FILE; or leave out --question"
        raise InputError(str(profile), [Problem("", message, remedy)])
    threads = load_program(profile, comment_threads)
    if not dataflow.candidates:
        reasons = [
            f"{name}: {why}"
            for name, why in dataflow.staying.items()
            if name not in dataflow.kinds.library
        ]
        message = f"no function could move: {'; '.join(reasons[:3]) or 'none computes anything'}"
        remedy = "move the work into a separate function without I/O, and profile again"
        if threads:
            message = f"{threads.words}; in the profiled thread, {message}"
            remedy = THREAD_REMEDY
        raise InputError(str(profile), [Problem("", message, remedy)])
    places, origin = load_program(profile, _describe_program)
    return Source(dataflow, origin, places, threads)


def check_one_program(profile: Path) -> None:
    """Raise InputError if a path is a folder, but not of the tables of one program."""
    if profile.is_dir() and not (profile / FUNCTIONS).exists():
        message = f"is a folder without {FUNCTIONS}: a study is of one program"
        raise InputError(str(profile), [Problem("", message, "name the profile of one of them")])


THREAD_REMEDY = "profile a run in which the thread of main does the work"


def _describe_program(program: Program, name: str) -> tuple[dict[str, Place], str]:
    places = {}
    if isinstance(program, Profile):
        places = {f.name: Place(f.file.rpartition("/")[2], f.line) for f in program.functions}
    return places, describe_origin(program, name)


def _best(judged: Sequence[Verdict], count: int) -> list[Verdict]:
    """Return the functions that gain most on their own.

    Functions with hardly any of the time are left to the user, unless there is no other.
    """
    order = sorted(judged, key=lambda v: (v.share < _SOME, -v.speedup))
    return order[: min(max(sum(v.share >= _SOME for v in judged), 1), count)]


def _common_blanks(
    source: Source, named: str, name: str, judged: Sequence[Verdict], chosen: Sequence[Verdict]
) -> dict[str, str]:
    """Return the blanks that templates share; functions are in the order of their work."""
    names = {verdict.function for verdict in chosen}
    entries = [(v.function, source.said(v)) for v in judged]
    functions = comment_list(
        [entry for entry in entries if entry[0] in names],
        [entry for entry in entries if entry[0] not in names],
    )
    return _COSTS | {
        "name": quote_text(name),
        "profile": quote_text(named),
        "origin": comment_origin(source.origin, source.threads),
        "whole": comment_speedup(source.threads),
        "functions": functions,
    }


def _rate(
    program: Dataflow, setting: Setting, call: Mapping[str, float] | None = None
) -> tuple[Sequence[Verdict], Sequence[Verdict]]:
    """Return the verdicts on the candidates of a study, and separately on too small ones.

    The calls of the second cost more than their work: they make the program slower even if the
    accelerator and its data take no time. They are candidates all the same if there are no others.
    `call` has the costs at the cheapest interface of the draft; None: of the setting.
    """
    offered = Dataflows((program,)).candidates  # a study chooses only among these
    judged = verdicts(program, setting, offered)
    free = replace(setting, latency_per_byte=0.0, **(call or {}))
    ideal = {v.function: v for v in verdicts(program, free, offered)}
    faster = [v for v in judged if ideal[v.function].ceiling >= 1]
    if not faster:
        return judged, ()
    return faster, [v for v in ideal.values() if v.ceiling < 1]


def _kept(program: Dataflow, setting: Setting, brakes: Sequence[Verdict]) -> str:
    """Return comments on the functions that stay on the host though they take much of the time.

    `brakes` are candidates whose calls cost more than their work.
    """
    table = kept_table(program, setting, _SOME)
    rows = list(zip(table.index, table["share"], table["why"], strict=True))
    study = Dataflows((program,))
    others = [name for name in program.candidates if name not in study.candidates]
    for v in verdicts(program, setting, others):
        if v.share >= _SOME:
            rows.append((v.function, v.share, study.staying[v.function]))
    for v in brakes:
        if v.share >= _SOME:
            why = f"{plural(int(v.calls), 'call')} of an accelerator cost more than its work: "
            times, _ = show_apart(1 / v.ceiling, 1.0, "1")
            why += f"the program would take at least {times} times as long"
            rows.append((v.function, v.share, why))
    rows.sort(key=lambda row: -row[1])
    lines = [f"{name}: {show_percent(share)}; {why}" for name, share, why in rows]
    shown = max(_KEPT, sum(share >= _MUCH for _, share, _ in rows))
    lines = lines[:shown] + ([f"and {len(lines) - shown} more"] if len(lines) > shown else [])
    return "\n".join(make_comment(line) for line in lines or ["none"])


def _engine_areas(program: Dataflow, judged: Sequence[Verdict]) -> list[float]:
    """Return the area of an engine for each function [LUT]."""
    return [float(areas.area) for areas in _areas_of_engines(program, judged)]


def _areas_of_engines(program: Dataflow, judged: Sequence[Verdict]) -> list[Areas]:
    """Return the areas of an engine for each function: sixteen times the host's speed."""
    engine, costs = Accelerators(16.0, 16.0), AreaCosts(**_AREAS)
    works = [
        split_work(program, outermost_contexts(program, [program.position(v.function)]))
        for v in judged
    ]
    return [split_areas(work, engine, costs) for work in works]


def _limit_area(area: float, needs: str) -> str:
    """Return the limit of an area with its reason: the area that is needed, or a whole device."""
    text, why = _round_up(area), f"{needs}: assumption"
    if area > _LARGEST_DEVICE:
        why = f"XC7V2000T, the largest of Xilinx' 7 series (DS180), not the {text} of {needs}"
        text = f"{_LARGEST_DEVICE / 1e3:g} kLUT"
    return f"{quote_text(text):<29} # {why}"


def _round_up(area: float) -> str:
    """Return an area as a study has it, rounded up to two digits."""
    step = 10.0 ** (math.floor(math.log10(max(area, 10.0))) - 1)
    return f"{math.ceil(area / step) * step / 1e3:g} kLUT"


def _select_fitting(judged: Sequence[Verdict], areas: Sequence[float]) -> list[Verdict]:
    """Return the functions whose engine fits the largest device; all if none does."""
    fitting = [v for v, area in zip(judged, areas, strict=True) if area <= _LARGEST_DEVICE]
    return fitting or list(judged)


def _require_gain(judged: Sequence[Verdict], part: float, said: str) -> str:
    """Return a constraint: the speedup has a part of the best gain of a function on its own.

    If no function gains enough, only the recommendation asks for a gain: the front stays, and the
    report lists the loss of each function, and why.
    """
    gain = max(v.speedup for v in judged) - 1
    if gain > _LEAST_GAIN:
        least = f"at_least = {1 + max(float(f'{part * gain:.1g}'), _LEAST_GAIN):.4g}"
        note = f"{said} of the gain of the best function by itself; less is not beneficial"
        return "\n".join(
            ["[[constraint]]", 'quantity = "speedup"', f"{least:<32}  # {note}: assumption"]
        )
    why = [
        "# At these costs an accelerator is beneficial for no function, so none is recommended:",
        "# a gain below five percent does not justify hardware (assumption).",
    ]
    return "\n".join([*why, "[recommend]", f'require = ["speedup >= {1 + _LEAST_GAIN:g}"]'])
