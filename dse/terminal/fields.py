"""Short answers on the terminal: one labelled field per line, cut between words."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dse.explain.breakdown import part_fields
from dse.explain.changes import Change, describe_design
from dse.explain.explanation import Explanation
from dse.explain.limits import Limits
from dse.explain.sensitivity import STUDY
from dse.explain.switch_points import LATER, SwitchPoints
from dse.model.values import (
    add_unit,
    align_numbers,
    choose_prefix,
    plural,
    show_number,
    show_tolerance,
    show_value,
    word_name,
)
from dse.result.record import Certificate, Result
from dse.study.study import ResolvedStudy

LABEL = 14
"""The columns of a label and the space behind it."""
_BUILT = "recommended"
_ROLES = (_BUILT, "nearest")
_RUN, _EXPLANATION = 18, 30  # lines
_MOST = 3  # lines of a field below the table
_SHORTENED = (
    *("No engine", "Worse", "Changes at", "Beneficial at", "Met at"),
    *("Next step", "Bottleneck", "Confidence"),
)
_DROPPED = ("Changes at", "Notes", "Worse")
_VERDICT = ("feasible", "on the front", "target", "benefit", "violation", "repair")
_KERNELS = 6  # lines of kernels
_WHAT_IF = 8  # rows of a what-if table
_SWITCHES = 6  # rows of a table of switch points
_ROLE = 28  # columns of a design's role
_CHANGE = 24  # columns of a change; a narrower one names the design
_SETTINGS = 40  # columns of the variables that change
_HEAD = 4  # lines of a table's head


def make_field(label: str, text: str, width: int, lines: int = 1) -> list[str]:
    """Return a label and a text, of which some lines are shown.

    >>> make_field("Next step", "interface pcie-3-x8 to cxl-x8: speedup +6 %", 40)
    ['Next step     interface pcie-3-x8 to …']
    """
    if not text:
        return []
    kept = re.sub(
        r" (?=[\[(%])|(?<=\d) (?=[A-Za-zµ])", "\N{NO-BREAK SPACE}", text
    )  # a unit stays with its name
    filled = textwrap.wrap(kept, max(width - LABEL, 20), break_on_hyphens=False)
    if len(filled) > lines:
        rest = filled[:lines]
        last = rest[-1].rsplit(" ", 1)[0] if len(rest[-1]) + 2 > width - LABEL else rest[-1]
        filled = [*rest[:-1], f"{last} …"]
    heads = [label, *[""] * (len(filled) - 1)]
    lines_ = zip(heads, filled, strict=True)
    return [
        f"{head:<{LABEL - 1}} {line}".replace("\N{NO-BREAK SPACE}", " ") for head, line in lines_
    ]


def make_table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a table, its first column to the left; long heads take several lines.

    Columns that do not fit even so are left out.
    """
    cells = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for most in range(1, _HEAD + 1):
        wrapped = [_wrap_head(head, size, most) for head, size in zip(heads, cells, strict=True)]
        sizes = [max(size, *map(len, head)) for size, head in zip(cells, wrapped, strict=True)]
        ends = np.cumsum([size + 2 for size in sizes]) - 2
        if ends[-1] <= width:
            break
    shown = max(int(np.searchsorted(ends, width, side="right")), 1)
    depth = max(map(len, wrapped[:shown]))
    above = zip(*([""] * (depth - len(head)) + head for head in wrapped[:shown]), strict=True)
    return [
        "  ".join(
            cell.rjust(size) if column else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(row, sizes[:shown], strict=True))
        ).rstrip()
        for row in [*above, *(row[:shown] for row in rows)]
    ]


def _wrap_head(head: str, size: int, most: int) -> list[str]:
    """Return a head in lines: the narrowest that is as wide as its cells, or has at most `most`."""
    kept = head.replace(" [", "\N{NO-BREAK SPACE}[") if most == 1 else head
    for width in range(max(size, 1), len(head) + 1):
        lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False)
        if len(lines) <= most and max(map(len, lines)) <= width:
            return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
    return [head]


# A run ----------------------------------------------------------------------------------------


def summarize_run(result: Result, answer: Mapping[str, Any], report: str, width: int) -> list[str]:
    """Return the answer of a run in at most 18 lines, the first of which the caller prints.

    `answer`: as `dse.explain.recommendation.answer_data` gives it; empty if there is none.
    """
    lines = make_field(*_describe_search(result), width, 2)
    warnings = answer.get("warnings", ())
    for warning in warnings[:2]:
        lines += make_field("Warning", warning, width, 2)
    if len(warnings) > 2:
        lines += make_field("Warnings", f"{len(warnings) - 2} more: run with --verbose", width)
    if answer:
        lines += make_field("Answer", answer["verdict"], width, 2)
        lines += _describe_recommended(answer, width)
    if len(result.front):
        lines += _best_designs(result, answer, width)
    else:
        lines += make_field("Front", "empty: no design that was evaluated is feasible", width)
    if result.target is not None:
        lines += make_field("Target", result.target.words[0], width, 2)
    fields = dict(answer["fields"]) if answer else {}
    switch_points = fields.get("switch points", "").replace(LATER, "")
    label = answer.get("switch_label", "Changes at")
    advice = {label: switch_points} if label != "Changes at" else {}
    notes = f"{plural(len(result.notes), 'note')}: run with --verbose, or see the report"
    texts = {
        "No engine": fields.get("build nothing", ""),
        "Worse": fields.get("worse than nothing built", ""),
        "Bottleneck": "; ".join(filter(None, (fields.get("limits"), fields.get("bottleneck")))),
        **advice,
        "Next step": answer["next_step"] if answer else "",
        "Confidence": _describe_confidence(fields),
        "Changes at": "" if advice else switch_points,
        "Notes": notes if result.notes else "",
    }
    lines += _fit_fields(texts, _RUN - 2 - len(lines), width)
    return [*lines, f"{'Report':<{LABEL}}{report}"]


def _fit_fields(texts: Mapping[str, str], room: int, width: int) -> list[str]:
    """Return fields in at most so many lines: they lose lines in turn, and some are left out."""
    sizes = {n: len(make_field(n, text, width, _MOST)) for n, text in texts.items()}
    for least, labels in ((2, _SHORTENED), (1, _SHORTENED), (0, _DROPPED)):
        for label in labels:
            if sum(sizes.values()) > room:
                sizes[label] = min(sizes.get(label, 0), least)
    lines = [
        line
        for label, text in texts.items()
        if sizes[label]
        for line in make_field(label, text, width, sizes[label])
    ]
    return lines[: max(room, 0)]


def _describe_search(result: Result) -> tuple[str, str]:
    """Return a label and a text: how far the search came."""
    certificate = result.certificate
    front = f"{certificate.non_dominated:,} on the front"
    if certificate.designs is None:
        designs = plural(certificate.evaluated, "design")
    elif certificate.complete:
        designs = f"all {plural(certificate.designs, 'design')}"
    else:
        designs = f"{certificate.evaluated:,} of {plural(certificate.designs, 'design')}"
    text = f"{designs}, {certificate.feasible:,} feasible, {front}"
    if certificate.method == "bound" and certificate.complete:
        some = certificate.evaluated < (certificate.designs or math.inf)
        text = f"{designs}, {certificate.evaluated:,} of them evaluated, {front}" if some else text
    return _label_search(certificate), text


def _describe_confidence(fields: Mapping[str, str]) -> str:
    """Return how many input values are assumed, and the objectives if one of them is off."""
    inputs, spread = fields.get("inputs", "").split(";")[0], fields.get("one input off", "")
    spread = f"if one is off: {spread}" if spread else fields.get("check first", "")
    return "; ".join(filter(None, (inputs, spread)))


def _label_search(certificate: Certificate) -> str:
    if not certificate.complete:
        return "Not complete"
    return f"Within {show_tolerance(certificate.gap, 2)}" if certificate.gap else "Complete"


def _describe_recommended(answer: Mapping[str, Any], width: int) -> list[str]:
    """Return the recommended design: its variables, or the engine of each kernel."""
    if not answer["designs"]:
        return []
    recommended = answer["designs"][0]
    fields = dict(recommended["fields"])
    text = fields.pop(recommended["role"], "")
    lines = make_field(recommended["role"].capitalize(), text, width, 3)
    kernels = []
    for label, value in fields.items():
        if label == "gives":
            break
        kernels.append((label, value))
    for label, value in kernels[:_KERNELS]:
        name = f"  {label}"
        over = max(len(name) - (LABEL - 1), 0)  # a long name leaves less room
        lines += make_field(name, value, width - over)
    if len(kernels) > _KERNELS:
        lines.append(f"{'':<{LABEL}}and {len(kernels) - _KERNELS} more")
    return lines


def _best_designs(result: Result, answer: Mapping[str, Any], width: int) -> list[str]:
    """Return the recommended design and the best of each objective as a table, and no engine."""
    front, named = result.front, dict[str, list[str]]()
    if answer and answer["designs"]:
        first = answer["designs"][0]
        named[str(first["design"])] = [first["role"]]
    for objective in result.objectives:
        design = str(front.best(objective.name).name)
        named.setdefault(design, []).append(f"best {word_name(objective.name)}")
    rows = result.designs.loc[[int(design) for design in named]]
    heads, columns = ["", "design"], []
    for objective in result.objectives:
        values = rows[objective.name].to_numpy(dtype=float)
        scale, unit = choose_prefix(values, objective.unit)
        texts = [
            text if np.isfinite(value) else show_value(value, objective.unit)
            for value, text in zip(values.tolist(), align_numbers(values / scale), strict=True)
        ]
        heads.append(add_unit(word_name(objective.name), unit))
        columns.append(texts)
    table = [
        [_cut(_shorten(labels), _ROLE), design, *cells]
        for (design, labels), *cells in zip(named.items(), *columns, strict=True)
    ]
    return make_table(heads, table, width)


def _shorten(labels: Sequence[str]) -> str:
    """Return the roles of a design: the first, and how many more."""
    if len(labels) == 1:
        return labels[0]
    return labels[0] if labels[0] in _ROLES else f"{labels[0]} +{len(labels) - 1}"


# A design -------------------------------------------------------------------------------------


def summarize_explanation(
    study: ResolvedStudy,
    result: Result,
    explanation: Explanation,
    changes: Iterable[SwitchPoints | Limits],
    width: int,
) -> list[str]:
    """Return the explanation of a design in at most 30 lines."""
    variables = [n for n, c in result.columns.items() if c.role == "variable"]
    shown = [n for n in variables if n in explanation.values]
    settings = describe_design(study.evaluator, explanation.values, shown)
    gives = ", ".join(
        f"{word_name(o.name)} {show_value(float(explanation.values[o.name]), o.unit)}"
        for o in result.objectives
    )
    lines = [f"design {explanation.design} of {result.name}"]
    for label, text in explanation.fields:
        if label in _VERDICT:
            lines += make_field(label.capitalize(), text, width, 2)
    lines += make_field("Design", settings, width, 3)
    lines += make_field("Gives", gives, width, 2)
    parts = part_fields(explanation.parts)
    totals = Counter(label.partition(" (")[0] for label, _ in parts)
    for label, text in parts[:4]:
        total = label.partition(" (")[0]
        name = total if totals[total] == 1 else label  # of several conditions: each with its own
        lines += make_field("Breakdown", f"{name}: {text}", width)
    lines += _bottlenecks(explanation, width)
    lines += _what_if(result, explanation, width)
    kept = _EXPLANATION - 1 - len(lines)
    rest: list[str] = []
    for each in changes:
        if isinstance(each, SwitchPoints) and each.points:
            rest += _switch_points(each, width)
        else:
            for label, text in each.lines:
                rest += make_field(label.capitalize(), text, width)
    lines += rest[: max(kept, 0)]
    return [*lines, "--verbose shows all values, bottlenecks, changes, switch points and regions"]


def _bottlenecks(explanation: Explanation, width: int) -> list[str]:
    """Return the inputs that are bottlenecks: inputs to select, then given ones."""
    found = [s for s in explanation.sensitivities if s.bottleneck]
    lines = []
    for label, own in (("Bottleneck", False), ("Given", True)):
        gains: dict[str, list[str]] = {}
        for each in found:
            if (each.set_by == STUDY) == own:
                gain = f"{word_name(each.objective)} {each.gain_text} better"
                gains.setdefault(word_name(each.label), []).append(gain)
        texts = [f"{name}: {', '.join(parts)}" for name, parts in gains.items()]
        lines += make_field(label, "; ".join(texts), width, 2)
    return lines


def _what_if(result: Result, explanation: Explanation, width: int) -> list[str]:
    """Return the changes of one variable as a table, one column per objective."""
    changes = [change for change in explanation.advice if change.settings][:_WHAT_IF]
    if not changes:
        return make_field("No change", explanation.no_change, width, 2)
    heads = ["What if", *(word_name(o.name) for o in result.objectives), "design"]
    rows = [
        [_head(change), *(e.change for e in change.effects), str(change.design or "")]
        for change in changes
    ]
    return make_table(heads, rows, width)


def _head(change: Change) -> str:
    """Return the variables that change; only their new values if both do not fit."""
    text = ", ".join(map(str, change.settings))
    if len(text) > _SETTINGS:
        text = ", ".join(f"{word_name(s.variable)} → {s.differing[1]}" for s in change.settings)
    return _cut(text, _SETTINGS)


def _cut(text: str, width: int) -> str:
    """Return a text that fits, cut between words."""
    return text if len(text) <= width else text[: width - 1].rsplit(" ", 1)[0] + " …"


def _switch_points(found: SwitchPoints, width: int) -> list[str]:
    """Return the nearest switch points as a table, with the change of the design."""
    rows = []
    for label, now, value, *_ in _texts(found):
        number_, unit = value.partition(" ")[::2]
        rows.append((_cut(label, 34), now, number_ if now.endswith(f" {unit}") else value))
    lines = make_table(["Switch point", "now", "changes at"], rows, width)
    size = max(map(len, lines))
    room = width - size - 2
    texts = [(design, change) for *_, design, change in _texts(found)]
    changes = [change or design if room >= _CHANGE else design for design, change in texts]
    last = ["then", *changes] if room < _CHANGE else ["recommended then", *changes]
    pairs = zip(lines, last, strict=True)
    return [f"{line:<{size}}  {_cut(text, room)}" if room > 12 else line for line, text in pairs]


def _texts(found: SwitchPoints) -> list[tuple[str, ...]]:
    return [point.texts for point in found.points[:_SWITCHES]]


# A plan ---------------------------------------------------------------------------------------


def summarize_plan(study: ResolvedStudy, notes: Sequence[str], width: int) -> list[str]:
    """Return what a run would do in at most 12 lines."""
    evaluator, plan = study.evaluator, study.plan
    size = evaluator.space.size
    shown = plural(size, "design") if size is not None else "a continuous space"
    lines = [f"{study.name}: no problems; {shown}, {plan.method} search"]
    lines += make_field("Search", plan.reason, width)
    variables = [
        f"{name} ({'continuous' if v.count is None else show_number(v.count)})"
        for name, v in evaluator.space.variables.items()
    ]
    lines += make_field("Variables", ", ".join(variables), width, 3)
    objectives = [f"{o.direction} {add_unit(o.name, o.unit)}" for o in evaluator.objectives]
    lines += make_field("Objectives", ", ".join(objectives), width, 2)
    required = sum(1 for c in evaluator.constraints if c.required_by)
    own = len(evaluator.constraints) - required
    text = f"{plural(own, 'constraint')}, {plural(required, 'requirement')} of models"
    lines += make_field("Constraints", text, width)
    lines += make_field("Not checked", "; ".join(study.unchecked), width)
    if study.target is not None:
        lines += make_field("Target", study.target.reach, width)
    for warning in study.warnings[:2]:
        lines += make_field("Warning", warning, width, 2)
    room = 2 - min(len(study.warnings), 2)
    for note in notes[:room]:
        lines += make_field("Note", note, width, 2)
    if hidden := len(notes[room:]) + len(study.warnings[2:]):
        lines += make_field("Notes", f"{hidden} more: --verbose", width)
    return [
        *lines,
        f"{'More':<{LABEL}}--verbose: constraints and effects; --graph: the model graph",
    ]
