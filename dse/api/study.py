"""Studies, with methods for scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import pandas as pd

from dse.api import views
from dse.api.result import StudyResult, Sweep, number_of
from dse.boundary import reader
from dse.explain.explanation import Explanation
from dse.problems import InfeasibleError, InputError, Problem, as_path
from dse.result.record import Result
from dse.study import changes
from dse.study.study import ResolvedStudy, make_study, read_study


class Study(ResolvedStudy):
    """A study that is ready to evaluate designs and to run; `load` and `from_mapping` make it."""

    def __repr__(self) -> str:
        return views.study_line(self)

    def _repr_html_(self) -> str:
        return views.study_html(self)

    def with_inputs(self, **inputs: Any) -> Study:
        """Return a study with other inputs, as if its file contained them.

        Parameters
        ----------
        **inputs
            By name, as in a file: a number in the base unit or a text with a unit. A variable gets
            this single value or option. If ``[inputs]`` takes a value from a catalog entry, the new
            value replaces it. Conditions (``at``, ``over``) stay as they are.

        Raises
        ------
        InputError
            If a name is unknown or has no effect, or a value is invalid; the error lists all.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> study.with_inputs(clock_period="5 ns").run().nash()["schedule_period"]
        2
        """
        return Study(**vars(changes.with_inputs(self, inputs)))

    def with_row(self, variable: str, row: str, **values: Any) -> Study:
        """Return a study with other values in one entry of a catalog.

        Parameters
        ----------
        variable : str
            The key of ``[space]`` or ``[inputs]`` that takes the entry.
        row : str
            The name of the entry, such as ``"axi-dma"``.
        **values
            By quantity: a number in the base unit or a text with a unit.

        Raises
        ------
        InputError
            If there is no such key, entry or value, or a value is invalid; the error lists all.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/crypto.toml")
        >>> slower = study.with_row("interface", "axi-dma", interface_latency="2 us")
        """
        return Study(**vars(changes.with_row(self, variable, row, values)))

    def sweep(self, name: str, values: Iterable[Any], *, workers: int | None = None) -> Sweep:
        """Run the study once for each value of an input, or of a variable.

        Parameters
        ----------
        name : str
            As `with_inputs` takes it.
        values : iterable
            The values, at least one.
        workers : int, optional
            As `run` takes it.

        Returns
        -------
        Sweep
            The results by value, and tables of their best and Nash designs.

        Raises
        ------
        InputError
            If a value is invalid, before anything runs; the error lists every problem.
        StoppedError
            If a model raises.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> sweep = study.sweep("clock_period", ["10 ns", "5 ns"])
        >>> sweep.table["front"].tolist()
        [3, 1]
        """
        given = list(values) if not isinstance(values, str) else [values]
        if not given:
            raise InputError(self.name, [Problem(name, "no value is given", 'such as ["1 GHz"]')])
        studies, problems = {}, list[Problem]()
        for value in given:
            try:
                studies[str(value)] = self.with_inputs(**{name: value})
            except InputError as error:
                problems += error.problems
        if problems:
            raise InputError(self.name, problems)
        results, infeasible = {}, {}
        for value, study in studies.items():
            try:
                results[value] = study.run(workers=workers)
            except InfeasibleError as error:
                infeasible[value] = error.problems[0].message
        return Sweep(name, tuple(studies), results, infeasible)

    def evaluate(self, designs: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]) -> pd.DataFrame:
        """Evaluate designs from a table or a mapping.

        Parameters
        ----------
        designs : DataFrame, Series or mapping
            One column per variable: numbers in base units or texts with units, and option names for
            choices. A Series, such as a row of a front, is one design; a mapping has a value, or
            a list of values, for each variable. Further columns of a table have no effect.

        Returns
        -------
        DataFrame
            On the same index: the objectives, every intermediate quantity, the parameters of the
            selected entries, and ``feasible``. ``violations`` gives the violated constraints of
            each design in words, and ``outside`` the values outside the design space; both are
            empty if there are none. A quantity under conditions has them in its name.

        Raises
        ------
        InputError
            If a variable is missing, a name is another input or, in a mapping, unknown, a value
            is invalid, or the study has a table instead of models.
        ModelError
            If a model raises.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> study.evaluate({"schedule_period": [1, 3]})["latency_at_low_load"].tolist()
        [1.576e-07, 1.460e-07]
        """
        from dse.explain.own_designs import evaluate_designs

        return evaluate_designs(self, designs)

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
            The run folder for the results; if it is None, nothing is written.
        workers : int, optional
            The threads or processes; by default the study's setting, else all cores.
        progress : callable, optional
            A function that gets a `dse.search.base.Progress` from time to time.

        Returns
        -------
        StudyResult
            The front and its certificate.

        Raises
        ------
        InputError
            If `workers` is not a whole number from 1, or an objective compares each design with
            its own host.
        InfeasibleError
            If no feasible design was found.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> result.certificate.complete, len(result.front)
        (True, 3)
        """
        whole = isinstance(workers, Integral) and not isinstance(workers, bool)
        if workers is not None and not (whole and workers >= 1):
            problem = Problem("workers", f"{workers!r} is not a whole number from 1")
            raise InputError(self.name, [problem])
        from dse.run import run  # the searches, reports and explanations are needed only here

        found = run(self, Path(out) if out is not None else None, workers, progress)
        return StudyResult.of(found, self)

    def explain(self, result: Result, *designs: int | str | pd.Series[Any]) -> list[Explanation]:
        """Return explanations of designs: their limits, and the best next changes.

        Parameters
        ----------
        result : StudyResult
            A result of this study.
        *designs : int, str or Series
            Design numbers, as in the front's index, ``"nash"``, or rows of the front; the
            Nash design if none is given.

        Returns
        -------
        list of Explanation
            One per design.

        Raises
        ------
        InputError
            If there is no such design.
        EmptyFrontError
            If no design is given, and the front is empty.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> (explanation,) = study.explain(result, "nash")
        >>> explanation.feasible
        True
        """
        from dse.explain.explanation import explain

        chosen = [number_of(result, each) for each in designs or ("nash",)]
        return explain(self, result, chosen)

    def explore(self) -> Any:
        """Return widgets for a notebook: inputs, variables and limits next to the front.

        Returns
        -------
        dse.live.notebook.Explorer
            A widget; its ``study`` and ``result`` follow each change.

        Raises
        ------
        InputError
            If ipywidgets is not installed.

        Examples
        --------
        In a notebook:

        >>> import dse
        >>> dse.load("studies/crypto.toml").explore()  # doctest: +SKIP
        """
        try:
            from dse.live.notebook import Explorer
        except ImportError:
            remedy = "pip install 'dse-accelerators[notebook]'"
            problem = Problem("", "explore needs ipywidgets", remedy)
            raise InputError(self.name, [problem]) from None
        return Explorer(self)

    def report(self, result: Result, path: str | Path) -> None:
        """Write the report of a result of this study into a file.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import dse
        >>> study = dse.load("studies/shared_pipeline.toml")
        >>> result = study.run()
        >>> study.report(result, "page.html")  # doctest: +SKIP
        """
        from dse.run import report

        report(self, result, Path(path))


@reader
def load(
    path: str | Path,
    target: str | None = None,
    least: str | None = None,
    seconds: float | None = None,
) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : path
        The file.
    target, least : str, optional
        The target to meet, and the objective to minimize, in place of its ``[target]``.
    seconds : float, optional
        The time limit, in place of its ``search.timeout``.

    Raises
    ------
    InputError
        If the file is invalid; the error lists every problem.

    Examples
    --------
    >>> import dse
    >>> dse.load("studies/shared_pipeline.toml").name
    'shared_pipeline'
    """
    path = as_path(path, "a study file")
    asked = None if target is None else {"reach": target} | ({"least": least} if least else {})
    return Study(**vars(read_study(path, asked, seconds)))


def from_mapping(
    content: Mapping[str, Any], models: Mapping[str, Callable[..., Any]] | None = None
) -> Study:
    """Make a study in a script, from the same content as a file.

    Parameters
    ----------
    content : mapping
        The content, as in a study file.
    models : mapping of str to callable, optional
        Functions that ``study.models`` may name by these keys, in addition to installed ones.

    Raises
    ------
    InputError
        If the content is invalid; the error lists every problem.

    Examples
    --------
    >>> import dse
    >>> content = {
    ...     "study": {"name": "aes", "models": ["objectives.logca:offload"]},
    ...     "inputs": {
    ...         "granularity": "4 KiB",
    ...         "overhead": 29000,
    ...         "latency": 1500,
    ...         "latency_per_byte": 0,
    ...         "computational_index": 90,
    ...         "complexity": 1,
    ...     },
    ...     "space": {"acceleration": {"values": [2, 10, 30]}},
    ...     "objective": [{"maximize": "speedup"}],
    ... }
    >>> dse.from_mapping(content).run().nash()["acceleration"]
    30.0
    """
    return Study(**vars(make_study(content, models)))
