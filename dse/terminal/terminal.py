"""The printing of the command line: progress, summaries and explanations, at any width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

from dse.evaluate.audit import show_exactly
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.graph_summary import VariableEffects, list_steps, list_variable_effects
from dse.evaluate.space import SUBSET
from dse.evaluate.table_space import TableSpace
from dse.explain.breakdown import find_divisor, part_fields
from dse.explain.explanation import Explanation, list_best_points, region_fields
from dse.explain.sensitivity import Sensitivity
from dse.model.values import (
    add_unit,
    align_numbers,
    choose_prefix,
    plural,
    show_number,
    show_percent,
    show_value,
)
from dse.result.progress import Status
from dse.result.record import Certificate, Result
from dse.search.base import UNLIMITED, Progress
from dse.search.outcome import describe_ground
from dse.study.catalog import Catalog, ListedModel, find_near_name
from dse.study.study import ResolvedStudy
from dse.terminal.fields import summarize_explanation, summarize_plan, summarize_run
from dse.terminal.layout import escape, hang_text, indent_text, show_time

if TYPE_CHECKING:
    from dse.explain.certification import Refutation, Verdict
    from dse.explain.limits import Limits
    from dse.explain.switch_points import SwitchPoints
    from dse.result.compare import Comparison

_PIPED_COLUMNS = 10_000  # the width for a program that reads the output: no line is broken
_LABEL = 24  # the width of a label


def _reached(reach: VariableEffects) -> str:
    """Return the columns that a variable affects in words: the shorter of the two lists."""
    reached = (*reach.objectives, *reach.constraints)
    if not reach.others:
        return "affects every column"
    if len(reach.others) < len(reached):
        return f"affects every column except {', '.join(reach.others)}"
    return f"affects {', '.join(reached)}"


class Terminal:
    """Prints for people: tables on standard output, progress on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._out = Console(highlight=False, emoji=False, quiet=quiet)
        self._err = Console(highlight=False, emoji=False, stderr=True, quiet=quiet)

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines that fit as they are."""
        for line in lines:
            self._out.print(escape(line), soft_wrap=True)

    @property
    def width(self) -> int:
        """The columns of standard output."""
        return self._out.width

    def say(self, text: str) -> None:
        """Print a line."""
        self._out.print(escape(text), soft_wrap=True)

    def begins(self, study: ResolvedStudy) -> None:
        """Print the study, the size of its space and the method of the search."""
        size = study.evaluator.space.size
        shown = plural(size, "design") if size is not None else "a continuum of designs"
        line = f"[bold]{escape(study.name)}[/]: {shown}, {study.plan.method} search"
        self._out.print(line, soft_wrap=True)

    @contextmanager
    def running(self, study: ResolvedStudy) -> Iterator[Callable[[Progress], None]]:
        """Show a progress bar while a run goes on; the callable takes the progress.

        Only a terminal shows it.
        """
        if not self._err.is_terminal:
            yield lambda _: None
            return
        from rich import progress as bars  # slow to import

        columns = [
            bars.BarColumn(bar_width=None),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[pace]}"),
            bars.TextColumn("front {task.fields[front]:,}"),
            bars.TimeRemainingColumn(),
        ]
        with bars.Progress(*columns, console=self._err, transient=True) as bar:
            task = bar.add_task("", total=study.plan.evaluations, pace="", front=0)

            def watch(state: Progress) -> None:
                speed = bar.tasks[0].speed
                pace = f"{speed:,.0f}/s" if speed else ""
                bar.update(
                    task, completed=state.done, total=state.total, pace=pace, front=state.front
                )

            yield watch

    def summary(
        self, result: Result, report: Path, answer: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Show the answer of a run in a few lines."""
        self.lines(summarize_run(result, answer, str(report), self.width))

    def whole_summary(
        self, result: Result, report: Path, answer: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Show the result of a run, with the answer first."""
        if result.target is not None:
            self._out.print(f"target: {escape(result.target.reach)}")
        if answer:
            if answer["verdict"]:
                self._out.print(escape(answer["verdict"]))
            self._fields(answer["fields"].items())
        if result.target is not None:
            for sentence in result.target.words:
                self._out.print(indent_text(escape(sentence)))
        self._out.print(escape(result.certificate.statement))
        if result.certificate.basis:
            self._out.print(escape(result.certificate.basis))
        front = result.front
        if len(front):
            for each in _best_designs(result, self._out):
                self._out.print(each)
        else:
            self._out.print("no design is on the front: none that was evaluated is feasible")
        self._steps(answer)
        for note in result.notes:
            self.note(note)
        seconds = result.provenance.get("seconds")
        pace = result.provenance.get("designs_per_second")
        if seconds is not None and pace is not None:
            self._out.print(f"{seconds:.2f} s, {plural(pace, 'design')}/s")
        self._out.print(f"report: {escape(str(report))}", soft_wrap=True)

    def _steps(self, answer: Mapping[str, Any]) -> None:
        """Show the cost of one step up from the recommended design."""
        if not answer or not answer["steps"]:
            return
        self._out.print(f"a tenth better, from design {answer['designs'][0]['design']}:")
        self._fields(answer["steps"].items())

    def certificate(self, certificate: Certificate) -> None:
        """Show a certificate, and the declarations on which it rests."""
        self.say(certificate.statement)
        if certificate.basis:
            self.say(certificate.basis)
        if certificate.rests_on:
            self.say("It rests on bounds:")
            for ground in certificate.rests_on:
                self.say(f"  {describe_ground(ground)}")

    def verdict(self, result: Result, verdict: Verdict) -> None:
        """Show the outcome of the test of a certificate, and then the certificate."""
        if verdict.difference:
            self.say(f"REFUTED: {verdict.difference}")
        elif verdict.refutation is None:
            self.say("Nothing is certified: designs that were not evaluated may be better.")
        else:
            self._refutation(result, verdict.refutation)
        if verdict.again:
            again = f"{verdict.again:,} designs gave the same values again"
            self.say(f"{again}, also in a fresh process.")
        self.say("The certificate that was tested:")
        self.certificate(result.certificate)

    def _refutation(self, result: Result, refutation: Refutation) -> None:
        gap = result.certificate.gap or 0.0
        by = f" by more than {show_percent(gap)}" if gap else ""
        if refutation.design is None or refutation.values is None:
            self.say(
                f"Not refuted: of {plural(refutation.tried, refutation.of)}, "
                f"{refutation.feasible:,} feasible, none is better{by} than what the front has."
            )
            return
        units = {name: column.unit for name, column in result.columns.items()}
        design, values = (
            ", ".join(
                f"{n} = {v if isinstance(v, str) else show_exactly(float(v), units[n])}"
                for n, v in content.items()
            )
            for content in (refutation.design, refutation.values)
        )
        self.say(f"REFUTED: no design on the front is as good as this one{by}: {design}.")
        self.say(f"It has {values}.")

    def plan(self, study: ResolvedStudy, notes: Sequence[str]) -> None:
        """Show the plan of a run in a few lines."""
        self.lines(summarize_plan(study, [*study.notes, *notes], self.width))

    def whole_plan(self, study: ResolvedStudy, notes: Sequence[str]) -> None:
        """Show the plan of a run, with all variables and constraints."""
        evaluator = study.evaluator
        size = evaluator.space.size
        shown = plural(size, "design") if size is not None else "a continuous space"
        plan = study.plan
        limited = plan.evaluations not in (size, UNLIMITED)
        budget = f" of {plan.evaluations:,}" if limited else ""
        why = f" ({plan.reason})" if plan.reason else ""
        self._out.print(
            f"{escape(study.name)}: no problems; {shown}, {plan.method} search{budget}{why}"
        )
        reach = list_variable_effects(evaluator)
        for name, variable in evaluator.space.variables.items():
            count = "continuous" if variable.count is None else plural(variable.count, "value")
            if isinstance(evaluator.space, TableSpace):
                self._line("variable", f"{name}: {count if variable.count else 'many values'}")
                continue
            self._line("variable", f"{name}: {count}; {_reached(reach[name])}")
        for objective in evaluator.objectives:
            quantity = evaluator.model_graph.quantities.get(objective.quantity)
            label = f"({quantity.label}) " if quantity is not None and quantity.label else ""
            named = f"{objective.name} {label}[{objective.unit}] {objective.condition}"
            self._line(objective.direction, named)
        for constraint in evaluator.constraints:
            self._line("requirement" if constraint.required_by else "constraint", constraint.name)
        for requirement in study.unchecked:
            self._line("not checked", requirement)
        if study.target is not None:
            self._line("target", study.target.reach)
        for warning in study.warnings:
            self._line("warning:", warning, width=8, indent=0)
        for note in (*study.notes, *notes):
            self.note(note)

    def note(self, text: str) -> None:
        """Print a note; its further lines are indented."""
        self._line("note:", text, width=5, indent=0)

    def _line(self, kind: str, text: str, width: int = 11, indent: int = 2) -> None:
        for each in hang_text(kind, text, width, indent):
            self._out.print(each)

    def model_graph(self, evaluator: Evaluator) -> None:
        """Show the model graph: quantities, the model that computes them, and its inputs."""
        if not evaluator.model_graph.models:
            return
        self._out.print("model graph (quantity ← model ← inputs), in the order of evaluation:")
        used = list_steps(evaluator)
        for step in used:
            head = f"{', '.join(step.gives)} ← {step.model}"
            self._out.print(indent_text(escape(head)))
            for origin, names in step.takes.items():
                self._line("←", f"{origin}: {', '.join(names)}", 1, 6)
        model_graph = evaluator.model_graph
        totals = (
            find_divisor(model_graph, o.quantity) for o in evaluator.objectives
        )  # for breakdowns
        busy = {s.model for s in used} | {model_graph.producers[t].name for t in totals if t}
        idle = [m.name for m in model_graph.models if m.name not in busy]
        if idle:
            text = f"nothing asks for what these give: {', '.join(idle)}"
            self._out.print(indent_text(escape(text)))

    def explanation(
        self,
        study: ResolvedStudy,
        result: Result,
        explanation: Explanation,
        changes: Iterable[SwitchPoints | Limits] = (),
    ) -> None:
        """Show the verdict on a design, its breakdown and the best changes in a few lines."""
        self.lines(summarize_explanation(study, result, explanation, changes, self.width))

    def whole_explanation(
        self,
        result: Result,
        explanation: Explanation,
        changes: Iterable[SwitchPoints | Limits] = (),
    ) -> None:
        """Show the verdict on a design, all changes, its values and its limits."""
        self._out.print(f"[bold]design {explanation.design}[/] of {escape(result.name)}")
        more = [line for each in changes for line in each.lines]
        self._fields([*explanation.fields, *more])
        units = {n: c.unit for n, c in result.columns.items()}
        units |= {n: u for n, (_, u) in result.constants.items()}
        table = Table(box=None, pad_edge=False, show_header=False)
        codes = {n for n, c in result.columns.items() if c.role == "code"}
        for name, value in explanation.values.items():
            if name not in codes:
                is_text = isinstance(value, str)
                shown = value if is_text else show_value(float(value), units.get(name) or "1")
                table.add_row(escape(name), escape(shown))
        for each in explanation.scenarios:
            shown = show_value(each.value, each.unit)
            table.add_row(escape(f"  {each.objective} at {each.scenario}"), shown)
        self._out.print(table)
        self._fields(part_fields(explanation.parts))
        self._sensitivities(explanation.sensitivities)
        for objective, indices in explanation.ranking.items():
            shares = (f"{name} {show_percent(index, 2)}" for name, index in indices.items())
            self._fields([(f"{objective} decided by", ", ".join(shares))])
        if missing := explanation.missing_bottlenecks:
            self._fields([("bottlenecks", missing)])
        self._fields([*region_fields(explanation), *list_best_points(explanation)])

    def _fields(self, fields: Iterable[tuple[str, str]]) -> None:
        """Print labels and texts in two columns; a label that repeats is printed once."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(max_width=_LABEL, overflow="fold")
        table.add_column(overflow="fold")
        last = ""
        for label, text in fields:
            table.add_row("" if label == last else escape(label), escape(text))
            last = label
        if table.row_count:
            self._out.print(table)

    def _sensitivities(self, items: Sequence[Sensitivity]) -> None:
        """Show the inputs that are bottlenecks, by who sets them."""
        table = _table(["input", "set by", "from", "to", "objective", "gain"], left=2)
        table.columns[4].justify, table.columns[5].no_wrap = "left", True
        for s in (s for s in items if s.bottleneck):
            table.add_row(*map(escape, (s.label, s.set_by, *s.shown, s.objective)), s.gain_text)
        if table.row_count:
            self._out.print("bottlenecks (sensitivity: one input improves, no other changes):")
            self._out.print(table)

    def status(self, status: Status) -> None:
        """Show the progress of a run."""
        for line in status_lines(status, datetime.now(UTC)):
            self.say(line)

    def comparison(self, comparison: Comparison) -> None:
        """Show two runs next to each other."""
        if comparison.equal:
            self._out.print("both fronts have the same points")
        names = [escape(side.name) for side in (comparison.first, comparison.second)]
        units = {f"best {o.name}": o.unit for o in comparison.objectives}
        table = _table(["", *names], left=1)
        for label, row in comparison.rows().items():
            texts = [f"{v:,}" if isinstance(v, int) else f"{v:.6g}" for v in row]
            if label in units:
                texts = [show_value(float(value), units[label]) for value in row]
            table.add_row(escape(label), *texts)
        self._out.print(table)
        if comparison.differences:
            self._out.print("the studies differ in:")
            table = _table(["", *names], left=3)
            for difference in comparison.differences:
                table.add_row(*map(escape, (difference.what, difference.first, difference.second)))
            self._out.print(table)

    def listing(
        self, models: Sequence[ListedModel], catalogs: Sequence[Catalog], name: str | None
    ) -> None:
        """Show models and catalogs."""
        from dse.terminal.listing import list_details, list_overview

        if not models and not catalogs:
            meant = find_near_name(name or "")
            remedy = f"did you mean '{meant}'?" if meant else "see: dse list"
            self._out.print(
                f"nothing is called '{escape(name or '')}'; {escape(remedy)}", soft_wrap=True
            )
            return
        shown = (
            list_overview(models, catalogs)
            if name is None
            else list_details(models, catalogs, name)
        )
        self._print_lines(shown)

    def entries(self, catalog: Catalog, condition: str) -> None:
        """Show entries of a catalog as a table; the values that the condition names come first."""
        from dse.terminal.listing import entry_table

        self._print_lines(entry_table(catalog, condition))

    def _print_lines(self, shown: Iterable[RenderableType]) -> None:
        out = self._out
        if not out.is_terminal:  # a program reads whole lines
            out = Console(highlight=False, emoji=False, width=_PIPED_COLUMNS)
        for each in shown:
            out.print(each)


def _table(heads: Sequence[str], left: int) -> Table:
    """Return a table; the first columns are aligned to the left, the others to the right."""
    table = Table(box=None, pad_edge=False)
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i < left else "right", overflow="fold")
    return table


def status_lines(status: Status, now: datetime) -> Iterator[str]:
    """Yield the progress of a run in lines, one per subject."""
    finished = status.state == "finished"
    yield f"{status.name}: {status.state}{f', {status.method} search' if status.method else ''}"
    if status.done is not None:
        share = f" ({status.done / status.total:.1%})" if status.total else ""
        designs = plural(status.done if status.total is None else status.total, "design")
        of = "" if status.total is None else f"{status.done:,} of "
        so_far = "" if finished else " so far"
        front = "" if status.front is None else f"; {status.front:,} on the front{so_far}"
        yield f"  {of}{designs} done{share}{front}"
    if status.rate:
        end = ""
        if status.left is not None:
            when = (now + timedelta(seconds=status.left)).astimezone()
            end = f"; expected end in {show_time(status.left)}, at {when:%Y-%m-%d %H:%M:%S}"
        yield f"  {show_number(status.rate)} designs/s{end}"
    if status.pid is not None:
        since = datetime.fromisoformat(status.since).astimezone()
        seen = (now - datetime.fromisoformat(status.seen)).total_seconds()
        does = "works" if status.state == "under way" else f"gone, last note {show_time(seen)} ago"
        place = f"process {status.pid} on {status.host}"
        yield f"  {place}, since {since:%Y-%m-%d %H:%M:%S}: {does}"
    if status.hint:
        yield f"  {status.hint}"


# The best design per objective and the Nash design, as a table or list


class _Column(NamedTuple):
    name: str
    head: str
    number: bool
    cells: list[str]


def _best_designs(result: Result, console: Console) -> list[Table | Padding | str]:
    """Return the best designs for printing: one table if it fits, else a list per design.

    No name is ever broken, and the numbers of a column have aligned decimal points.
    """
    front = result.front
    rows = [(f"best {o.name}", front.best(o.name)) for o in result.objectives]
    if len(result.objectives) > 1:
        rows.append(("Nash design", front.nash()))
    names: dict[str, list[str]] = {}
    designs = {str(design.name): design for _, design in rows}
    for label, design in rows:
        names.setdefault(str(design.name), []).append(label)
    columns = []
    for o in result.objectives:
        values = np.array([float(design[o.name]) for design in designs.values()])
        scale, unit = choose_prefix(values, o.unit)
        texts = [
            text if np.isfinite(value) else show_value(value, o.unit)
            for value, text in zip(values.tolist(), align_numbers(values / scale), strict=True)
        ]
        columns.append(_Column(o.name, add_unit(o.name, unit).replace(" [", "\n["), True, texts))
    for column in result.columns.values():
        if column.about == SUBSET:
            chosen = [str(design[column.name]) for design in designs.values()]
            columns.append(_Column(column.name, column.name, False, chosen))
    table = _best_table(names, columns)
    least = console.measure(table, options=console.options.update(max_width=_PIPED_COLUMNS)).minimum
    return [table] if least <= console.width else _best_list(names, columns)


def _best_table(names: dict[str, list[str]], columns: list[_Column]) -> Table:
    table = Table(box=None, pad_edge=False)
    longest = max(len(line) for labels in names.values() for line in _lines(labels))
    table.add_column("", no_wrap=True, min_width=longest)  # a name of two words is one
    table.add_column("design", justify="right", no_wrap=True)
    for column in columns:
        head = escape(column.head)
        table.add_column(head, justify="right" if column.number else "left", no_wrap=column.number)
    for i, (design, labels) in enumerate(names.items()):
        cells = [escape(column.cells[i]) for column in columns]
        table.add_row(escape("\n".join(_lines(labels))), design, *cells)
    return table


def _lines(labels: list[str]) -> list[str]:
    """Return the objectives in which a design is best, one per line."""
    return [*(f"{label}," for label in labels[:-1]), labels[-1]]


def _best_list(names: dict[str, list[str]], columns: list[_Column]) -> list[Table | Padding | str]:
    shown: list[Table | Padding | str] = []
    for i, (design, labels) in enumerate(names.items()):
        shown.append(escape(f"{', '.join(labels)}: design {design}"))
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("", no_wrap=True)
        for column in columns:
            unit = column.head.partition("\n[")[2].rstrip("]")
            finite = column.number and column.cells[i][-1:].isdigit()
            table.add_row(
                escape(column.name), escape(f"{column.cells[i]} {unit if finite else ''}")
            )
        shown.append(indent_text(table))
    return shown
