"""A study: read from a file or a mapping, ready to evaluate designs and to run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dse.evaluate import Evaluator
from dse.problems import InputError, Problem
from dse.resolve import resolve
from dse.resolve.context import Context
from dse.resolve.curves import CurvePlan
from dse.search.plan import Plan, plan
from dse.section import Writer
from dse.space import Choice, Points
from dse.study_file import StudyFile, parse, read_toml

if TYPE_CHECKING:
    from dse.result import StudyResult


@dataclass(frozen=True)
class Study:
    """A resolved study.

    Parameters
    ----------
    file : StudyFile
        What was written.
    text : str
        The file's text.
    path : Path or None
        The file; None for a study made in a script.
    evaluator : Evaluator
        Models, space, objectives and constraints.
    plan : Plan
        How the space is searched.
    curves : tuple of CurvePlan
        What is drawn of the designs that matter most.
    sections : tuple of (str, callable)
        Names and functions that write sections of the report; see `dse.section`.
    notes : tuple of str
        What a reader should know.
    code : tuple of Path
        The files that models, catalogs and profiles came from.
    """

    file: StudyFile
    text: str
    path: Path | None
    evaluator: Evaluator
    plan: Plan
    curves: tuple[CurvePlan, ...]
    sections: tuple[tuple[str, Writer], ...]
    notes: tuple[str, ...]
    code: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The study's name."""
        return self.file.study.name

    @property
    def digest(self) -> str:
        """A digest of all that decides the result: the study, and the files it loads."""
        state = hashlib.sha256(self.shown_text.encode())
        for path in sorted(set(self.code)):
            state.update(path.name.encode() + b"\0" + path.read_bytes())
        return state.hexdigest()

    @property
    def shown_storage(self) -> str:
        """The storage URL without its password; the run folder's own where there is none."""
        url = self.file.run.storage
        if url is None:
            return "sqlite:///study.db"
        from dse.search.optuna_adapter import shown_url

        return shown_url(url)

    @property
    def shown_text(self) -> str:
        """The study's text, as it may be kept and shown: without the storage's password."""
        url = self.file.run.storage
        if url is None:
            return self.text
        written = r"""(["']?storage["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*')"""
        return re.sub(written, lambda m: f'{m.group(1)}"{self.shown_storage}"', self.text)

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
            Where a variable is missing, unknown, or a choice has an unknown option.
        """
        space = self.evaluator.space
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
        points: Points = space.from_labels({n: designs[n].to_numpy() for n in space.variables})
        judged = self.evaluator.evaluate(points)
        names = [goal.info.name for goal in self.evaluator.goals]
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
            Run folder to keep the results in; nothing is written where it is None.
        workers : int, optional
            Threads or processes; the study's own setting, else all cores.
        progress : callable, optional
            Called now and then with a `dse.search.plan.Progress`.

        Returns
        -------
        StudyResult
            The front and what is known about it.

        Raises
        ------
        InputError
            Where no design is feasible.
        """
        from dse.run import run  # it needs pandas and more only here

        return run(self, Path(out) if out is not None else None, workers, progress)


def load(path: str | Path) -> Study:
    """Read a study file.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    path = Path(path)
    text, raw = read_toml(path)
    return _study(raw, text, path, {})


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
    text = json.dumps(content, indent=1, default=str)
    return _study(dict(content), text, None, models or {})


def _study(
    raw: dict[str, Any],
    text: str,
    path: Path | None,
    functions: Mapping[str, Callable[..., Any]],
) -> Study:
    source = str(path) if path else "study"
    problems: list[Problem] = []
    file, dropped = parse(raw, problems)
    if file is None:
        raise InputError(source, problems)
    folder = path.parent if path else None
    context = Context(file, folder, functions, problems)
    context.incomplete = any(entry.startswith("space.") for entry in dropped)
    context.doubtful = {e.partition(".")[2] for e in dropped if e.startswith("inputs.")}
    resolved = resolve(context)
    space = resolved.evaluator.space if resolved else None
    chosen = plan(file.search, space, len(file.objective), problems)
    if problems or resolved is None or chosen is None:
        raise InputError(source, problems or [Problem("", "is no study")])
    return Study(
        file=file,
        text=text,
        path=path,
        evaluator=resolved.evaluator,
        plan=chosen,
        curves=resolved.curves,
        sections=resolved.sections,
        notes=tuple(context.notes),
        code=tuple(context.files),
    )
