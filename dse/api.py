"""What scripts hold: studies, results and fronts, with what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dse.evaluate.space import Choice
from dse.evaluate.table import TableSpace
from dse.problems import InputError, Problem
from dse.result import compare as comparing
from dse.result import folder as folders
from dse.result.reaching import reaching
from dse.result.record import Front as Rows
from dse.result.record import Result
from dse.study.study import ResolvedStudy, read_study, study_of_mapping

if TYPE_CHECKING:
    from dse.explain.verdict import Explanation
    from dse.report.figures import Figure


class Study(ResolvedStudy):
    """A study that is ready to evaluate designs and to run; made by `load` and `from_mapping`."""

    def __repr__(self) -> str:
        size = self.evaluator.space.size
        designs = "a continuous space" if size is None else f"{size:,} designs"
        models = ", ".join(model.name for model in self.evaluator.wiring.models)
        return f"<Study '{self.name}': {models or 'a table'}; {designs}>"

    def evaluate(self, designs: pd.DataFrame) -> pd.DataFrame:
        """Evaluate designs of one's own.

        Parameters
        ----------
        designs : DataFrame
            One column a variable: numbers in base units, option names for choices.

        Returns
        -------
        DataFrame
            One column an objective, and ``feasible``; on the same index.

        Raises
        ------
        InputError
            If a variable is missing or unknown, a choice has an unknown option, or the study is of
            a table, which has no models.
        """
        space = self.evaluator.space
        if isinstance(space, TableSpace):
            message = "a study of a table has no models: it knows the designs of its table alone"
            raise InputError("designs", [Problem("", message, "look them up in the table")])
        problems = [Problem(n, "is missing") for n in space.variables if n not in designs]
        for name, variable in space.variables.items():
            if isinstance(variable, Choice) and name in designs:
                bad = sorted(set(map(str, designs[name])) - set(variable.names))
                problems += [
                    Problem(name, f"has no option '{o}'", f"options: {', '.join(variable.names)}")
                    for o in bad
                ]
        if problems:
            raise InputError("designs", problems)
        points = space.from_labels({n: designs[n].to_numpy() for n in space.variables})
        judged = self.evaluator.evaluate(points)
        names = [objective.name for objective in self.evaluator.objectives]
        table = pd.DataFrame(judged.objectives, columns=names, index=designs.index)
        table["feasible"] = judged.feasible
        return table

    def run(
        self,
        out: str | Path | None = None,
        *,
        workers: int | None = None,
        progress: Callable[[Any], None] | None = None,
    ) -> StudyResult:
        """Search the space.

        Parameters
        ----------
        out : path, optional
            Run folder to keep the results in; nothing is written if it is None.
        workers : int, optional
            Threads or processes; the study's own setting, else all cores.
        progress : callable, optional
            Called now and then with a `dse.search.base.Progress`.

        Returns
        -------
        StudyResult
            The front and what is known about it.

        Raises
        ------
        InputError
            If no design is feasible, or `workers` is not a whole number from 1.
        """
        whole = isinstance(workers, Integral) and not isinstance(workers, bool)
        if workers is not None and not (whole and workers >= 1):
            problem = Problem("workers", f"{workers!r} is not a whole number from 1")
            raise InputError(self.name, [problem])
        from dse.run import run  # the searches, reports and explanations are needed only here

        return StudyResult.of(run(self, Path(out) if out is not None else None, workers, progress))

    def explain(self, result: Result, *designs: int | pd.Series[Any]) -> list[Explanation]:
        """Say what limits designs of a result and what to change next.

        Parameters
        ----------
        result : StudyResult
            Of this study.
        *designs : int or Series
            Design numbers, as in the front's index, or rows of the front; the knee if none is
            given.

        Returns
        -------
        list of Explanation
            One a design; see `dse.explain.verdict.Explanation`.

        Raises
        ------
        InputError
            If there is no such design.
        EmptyFrontError
            If none is given, and there is no knee.
        """
        from dse.explain.verdict import explain

        chosen = [_number(self.name, each) for each in designs or (result.knee(),)]
        return explain(self, result, chosen)

    def report(self, result: Result, path: str | Path) -> None:
        """Write the report of a result of this study into a file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        from dse.run import report

        report(self, result, Path(path))


def _number(study: str, design: Any) -> int:
    """Return the number of a design that is given by it, or by its row."""
    number = design.name if isinstance(design, pd.Series) else design
    if isinstance(number, Integral) and not isinstance(number, bool):
        return int(number)
    kind = "a row without a number" if isinstance(design, pd.Series) else type(design).__name__
    given = repr(design) if isinstance(design, str | int | float | list | tuple | None) else kind
    message = f"{given} is not the number of a design"
    remedy = "give whole numbers, as in the front's index, or rows of it such as result.knee()"
    raise InputError(study, [Problem("designs", message, remedy)])


class Front(Rows):
    """Non-dominated designs; see `dse.result.record.Front`."""

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Return these designs as a Plotly figure.

        Parameters
        ----------
        x, y : str, optional
            Columns; the first two objectives if they are not given.
        """
        from dse.report.figures import front_figure

        shown = self.source.designs.loc[self.designs.index]
        return front_figure(replace(self.source, designs=shown), x, y)

    def where(self, relation: str) -> Front:
        """Return the designs that satisfy a relation between columns, such as ``"area < 2"``."""
        return Front(super().where(relation).designs, self.source)


class StudyResult(Result):
    """What a run found; see `dse.result.record.Result` for its tables."""

    @classmethod
    def of(cls, result: Result) -> StudyResult:
        """Return a result as scripts hold it."""
        return cls(**{each.name: getattr(result, each.name) for each in fields(result)})

    @cached_property
    def front(self) -> Front:
        """The non-dominated designs."""
        return Front(super().front.designs, self)

    def where(self, relation: str) -> Front:
        """Return the designs of the front that satisfy a relation between columns."""
        return self.front.where(relation)

    def reaching(self, target: str) -> Front:
        """Return the designs of the front that reach a target.

        Parameters
        ----------
        target : str
            Bounds on objectives, such as ``"speedup >= 5 and area <= 100 kLUT"``. No design that is
            not on a certified front can do it with less: see `dse.evaluate.target`.

        Raises
        ------
        InputError
            If it is not a target, or one that a front cannot answer.
        """
        return Front(self.front.designs[reaching(self.front, target)], self)

    def plot(self) -> Figure:
        """Return the front as a Plotly figure, dominated designs in the background."""
        from dse.report.figures import front_figure

        return front_figure(self)

    def save(self, folder: str | Path) -> None:
        """Write tables and summary into a folder, from which `dse.load_result` reads them.

        Raises
        ------
        InputError
            If the folder holds a run, whose tables would be lost.
        """
        if (Path(folder) / folders.MARKER).exists():
            problem = Problem("", "holds a run of a study", "give another folder")
            raise InputError(str(folder), [problem])
        folders.save(self, Path(folder))


def load(path: str | Path, target: str | None = None, least: str | None = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : path
        The file.
    target, least : str, optional
        What to reach, and the objective of which the least is asked, in place of its ``[target]``.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    asked = None if target is None else {"reach": target} | ({"least": least} if least else {})
    return Study(**vars(read_study(path, asked)))


def from_mapping(
    content: Mapping[str, Any], models: Mapping[str, Callable[..., Any]] | None = None
) -> Study:
    """Make a study in a script, from the same content that a file would have.

    Parameters
    ----------
    content : mapping
        As in a study file.
    models : mapping of str to callable, optional
        Functions that ``study.models`` may name by these keys, beside the installed ones.

    Raises
    ------
    InputError
        With every problem of the content.
    """
    return Study(**vars(study_of_mapping(content, models)))


def load_result(folder: str | Path) -> StudyResult:
    """Read the result of a run from its folder.

    Raises
    ------
    InputError
        If the folder holds none, or another version of the layout.
    """
    return StudyResult.of(folders.load_result(folder))


def compare(
    first: Result, second: Result, first_name: str = "", second_name: str = ""
) -> comparing.Comparison:
    """Compare the fronts of two runs with the same objectives.

    Raises
    ------
    InputError
        If their objectives differ, or a front is empty.
    """
    return comparing.compare(first, second, first_name, second_name)
