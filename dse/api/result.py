"""Results, fronts and sweeps, with methods for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dse.api import views
from dse.boundary import reader
from dse.explain.explanation import Explanation
from dse.explain.targets import find_meeting
from dse.problems import InputError, Problem, as_path
from dse.result import compare as comparison
from dse.result import folder as folders
from dse.result import record
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from dse.explain.recommendation import Answer
    from dse.report.figures import Figure


class Front(record.Front):
    """Non-dominated designs; see `dse.result.record.Front`."""

    def __repr__(self) -> str:
        return views.front_line(self)

    def _repr_html_(self) -> str:
        return views.front_html(self)

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Return these designs as a Plotly figure.

        Parameters
        ----------
        x, y : str, optional
            Columns; the first two objectives if they are not given.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> result.front.plot().layout.xaxis.title.text
        'latency_at_high_load at 6 Melement/s [ns] · lower is better'
        """
        from dse.report.figures import front_figure

        shown = self.source.designs.loc[self.designs.index]
        return front_figure(replace(self.source, designs=shown), x, y)


@dataclass(frozen=True, repr=False)
class StudyResult(record.Result):
    """The result of a run: its tables, its front, and methods that explain them.

    The tables are documented in `dse.result.record.Result`: ``designs``, ``convergence``,
    ``certificate``, ``notes``, ``constants``. `best` and `nash` return one design, a Series
    whose name is the design's number.

    Parameters
    ----------
    origin : ResolvedStudy or Path or None
        The study of the run, or the run's folder.
    """

    origin: ResolvedStudy | Path | None = field(default=None, compare=False)

    @classmethod
    def of(cls, result: record.Result, origin: ResolvedStudy | Path | None = None) -> StudyResult:
        """Return a result with the methods for scripts."""
        return cls(
            **{f.name: getattr(result, f.name) for f in fields(record.Result)}, origin=origin
        )

    def __repr__(self) -> str:
        return views.result_line(self)

    def _repr_html_(self) -> str:
        return views.result_html(self)

    @cached_property
    def front(self) -> Front:
        """The non-dominated designs."""
        return Front(super().front.designs, self)

    def where(self, text: str) -> Front:
        """Return the designs of the front that satisfy a filter; see `Front.where`.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> len(result.where("schedule_period > 2"))
        2
        """
        return self.front.where(text)

    def reaching(self, target: str) -> Front:
        """Return the designs of the front that meet a target.

        Parameters
        ----------
        target : str
            Bounds on objectives, such as ``"speedup >= 5 and area <= 100 kLUT"``. If the front is
            certified, no other design meets the target at lower cost: see `dse.evaluate.target`.

        Raises
        ------
        InputError
            If it is no target, or the front cannot answer it.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> len(result.reaching("latency_at_low_load <= 145 ns"))
        1
        """
        return Front(self.front.designs[find_meeting(self.front, target)], self)

    def plot(self) -> Figure:
        """Return the front as a Plotly figure, dominated designs in the background.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> figure = result.plot()
        """
        from dse.report.figures import front_figure

        return front_figure(self)

    def explain(self, design: int | str | pd.Series[Any] | None = None) -> Explanation:
        """Return an explanation of a design: its limits, and the best next change.

        Parameters
        ----------
        design : int, str or Series, optional
            A design's number, as in the front's index, ``"nash"``, or a row of the front; the
            Nash design if it is not given.

        Raises
        ------
        InputError
            If there is no such design, or the study is not available.
        EmptyFrontError
            If no design is given, and the front is empty.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> result.explain().design, result.explain().feasible
        (2, True)
        """
        from dse.explain.explanation import explain

        number = number_of(self, "nash" if design is None else design)
        return explain(self._study, self, [number])[0]

    def answer(self) -> Answer:
        """Return the recommendation in words: the design, its benefit and cost, the next change.

        Raises
        ------
        InputError
            If the study is not available.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> result.answer().designs[0].design
        2
        """
        from dse.explain.explanation import explain
        from dse.explain.recommendation import assess_inputs, make_answer, named_designs

        study = self._study
        explanations = explain(study, self, named_designs(study, self))
        return make_answer(study, self, explanations, assess_inputs(study, self))

    def report(self, path: str | Path) -> None:
        """Write the report into a file.

        Raises
        ------
        InputError
            If the study is not available, or there is no folder for the file.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> result.report("page.html")  # doctest: +SKIP
        """
        from dse.run import report

        if not Path(path).parent.is_dir():
            problem = Problem("", "its folder does not exist", "make it first")
            raise InputError(str(path), [problem])
        report(self._study, self, Path(path))

    def save(self, folder: str | Path) -> None:
        """Write tables and summary into a folder, from which `dse.load_result` reads them.

        Raises
        ------
        InputError
            If the folder holds a run, whose tables would be lost.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     len(dse.load_result(folder).front)
        3
        """
        if (Path(folder) / folders.MARKER).exists():
            problem = Problem("", "holds a run of a study", "give another folder")
            raise InputError(str(folder), [problem])
        folders.save_result(self, Path(folder))

    @cached_property
    def _study(self) -> ResolvedStudy:
        """The study of the run; of a run folder, the copy there."""
        if isinstance(self.origin, Path):
            return folders.load_copied_study(self.origin)
        if self.origin is None:
            remedy = "ask the study: study.explain(result, design), study.report(result, path)"
            raise InputError(self.name, [Problem("", "its study is not at hand", remedy)])
        return self.origin


def number_of(result: record.Result, design: Any) -> int:
    """Return the number of a design, which is a number, a row, or ``"nash"``.

    Raises
    ------
    InputError
        If it is none of these.
    EmptyFrontError
        If the Nash design is requested, and the front is empty.
    """
    if isinstance(design, str) and design == "nash":
        design = result.nash()
    number = design.name if isinstance(design, pd.Series) else design
    if isinstance(number, Integral) and not isinstance(number, bool):
        return int(number)
    kind = "a row without a number" if isinstance(design, pd.Series) else type(design).__name__
    given = repr(design) if isinstance(design, str | int | float | list | tuple | None) else kind
    message = f"{given} is not the number of a design"
    remedy = 'give whole numbers, as in the front\'s index, "nash", or rows of the front'
    raise InputError(result.name, [Problem("designs", message, remedy)])


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of runs along one input; `Study.sweep` makes it.

    Parameters
    ----------
    name : str
        The input, or the variable.
    values : tuple of str
        Its values, as in the call.
    results : mapping of str to StudyResult
        By value; without values at which no design is feasible.
    infeasible : mapping of str to str
        By value: the reason why no design is feasible.

    Examples
    --------
    >>> import dse
    >>> study = dse.load("studies/shared_pipeline.toml")
    >>> sweep = study.sweep("clock_period", ["10 ns", "5 ns"])
    >>> sweep.best("latency_at_low_load")["schedule_period"].tolist()
    [2, 2]
    >>> sweep.nash()["schedule_period"].tolist()
    [3, 2]
    >>> sweep.table["front"].tolist()
    [3, 1]
    """

    name: str
    values: tuple[str, ...]
    results: Mapping[str, StudyResult]
    infeasible: Mapping[str, str]

    def __repr__(self) -> str:
        return views.sweep_line(self.name, self.values, self.infeasible)

    def _repr_html_(self) -> str:
        return views.page(repr(self), self.table)

    @property
    def table(self) -> pd.DataFrame:
        """One row per value: designs on the front, each objective's best and Nash value.

        Numbers in base units; NaN where no design is feasible.
        """
        rows = []
        for value in self.values:
            row: dict[str, Any] = {"front": 0}
            if (result := self.results.get(value)) is not None:
                names, nash = [o.name for o in result.objectives], result.nash()
                row |= {"front": len(result.front), "distinct": result.front.distinct}
                row |= {f"best {n}": float(result.best(n)[n]) for n in names}
                row |= {f"nash {n}": float(nash[n]) for n in names}
            rows.append(row)
        return pd.DataFrame(rows, index=pd.Index(self.values, name=self.name))

    def best(self, objective: str) -> pd.DataFrame:
        """Return the best designs in one objective, one row per value that has one.

        Raises
        ------
        InputError
            If no objective has that name.
        """
        return self._designs({v: r.best(objective) for v, r in self.results.items()})

    def nash(self) -> pd.DataFrame:
        """Return the Nash designs, one row per value that has one."""
        return self._designs({v: r.nash() for v, r in self.results.items()})

    def plot(self) -> Figure:
        """Draw each objective's best and Nash value along the input."""
        from dse.report.figures import sweep_figure

        results = list(self.results.values())
        units = [(o.name, o.unit) for o in results[0].objectives] if results else []
        return sweep_figure(self.name, self.table, units)

    def _designs(self, designs: Mapping[str, pd.Series[Any]]) -> pd.DataFrame:
        """Return designs as a table, each with its number."""
        rows = [{"design": design.name, **design} for design in designs.values()]
        return pd.DataFrame(rows, index=pd.Index(list(designs), name=self.name))


@reader
def load_result(folder: str | Path) -> StudyResult:
    """Read the result of a run from its folder.

    Raises
    ------
    InputError
        If the folder contains no result, or another version of the layout.

    Examples
    --------
    >>> import dse
    >>> dse.load_result("runs/crypto").nash()  # doctest: +SKIP
    """
    folder = as_path(folder, "a run's folder")
    return StudyResult.of(folders.load_result(folder), folder)


def compare(
    first: StudyResult, second: StudyResult, first_name: str = "", second_name: str = ""
) -> comparison.Comparison:
    """Compare two runs: the fronts, and what differs in their studies.

    Parameters
    ----------
    first, second : StudyResult
        Runs with the same objectives.
    first_name, second_name : str
        Their names in the comparison; by default the names of their studies.

    Raises
    ------
    InputError
        If one is not a result, their objectives differ, or a front is empty.

    Examples
    --------
    >>> import dse
    >>> study = dse.load("studies/shared_pipeline.toml")
    >>> result = study.run()
    >>> slower = study.with_inputs(clock_period="20 ns").run()
    >>> dse.compare(result, slower, "10 ns", "20 ns").equal
    False
    """
    contents: list[Mapping[str, Any]] = []
    for which, result in (("first", first), ("second", second)):
        if not isinstance(result, StudyResult):
            message = f"is of the type {type(result).__name__}, not the result of a run"
            remedy = "give what study.run() or dse.load_result(folder) returns"
            raise InputError("compare", [Problem(which, message, remedy)])
        origin = result.origin
        if isinstance(origin, Path):
            contents.append(folders.read_copied_content(origin))
        else:
            contents.append({} if origin is None else origin.content)
    one, other = first_name or first.name, second_name or second.name
    if one == other:
        one, other = f"{one} (first)", f"{other} (second)"
    return comparison.compare(first, second, one, other, contents)
