"""A run: search the space, keep what is found, resume what was cut short."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.evaluate.audit import audit
from dse.evaluate.judging import DesignError
from dse.evaluate.trace import steps
from dse.evaluate.wiring import ModelError
from dse.explain.admitted import useless
from dse.explain.obstacles import answer
from dse.problems import DseError, InfeasibleError, InputError, Problem
from dse.result import checkpoint as checkpoints
from dse.result import folder as files
from dse.result.claim import claimed
from dse.result.database import StorageError, has_trials
from dse.result.deadline import Deadline, deadline_of
from dse.result.record import Result
from dse.result.spare import EXPLAINED, explainable
from dse.result.tables import front_of, result_of
from dse.result.undefined import why_undefined_objective
from dse.search.base import Progress, Search, Start, method_of
from dse.search.outcome import Outcome
from dse.search.tally import why_infeasible
from dse.search.workers import HANGS, NEVER, EndedError, LateError, Workers
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from dse.model.section import Section
    from dse.result.storage import Store

_CHECKPOINT_SECONDS = 2.0
_AUDITED = 0.25  # of the time-out
_STARTING = 5.0  # seconds beyond the time-out until processes are there


class StoppedError(DseError):
    """A model's error ended the run; what was done is kept."""


def run(
    study: ResolvedStudy,
    out: Path | None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    backend: str | None = None,
    fresh: bool = False,
    moved: Callable[[Path], None] | None = None,
) -> Result:
    """Run a study; see `Study.run`.

    Parameters
    ----------
    backend : str, optional
        joblib's backend; threads or processes, as the study says, if it is None.
    fresh : bool
        Whether to start anew if the folder holds a run of the study; that is moved aside.
    moved : callable, optional
        Called with the new place of a run that is moved aside.

    Raises
    ------
    InfeasibleError
        If no design is feasible.
    InputError
        If the folder cannot be used.
    StoppedError
        If a model raised; what was done is saved first.
    """
    team = _workers(study, workers, backend)
    if out is None:
        with _storage(study, None) as store:
            return _run(study, None, store, team, progress, {})
    copies, out = files.copies_of(study), Path(os.path.abspath(out))  # a model may go elsewhere
    with _written(study, out), claimed(out, study.digest, study.name, fresh, copies) as claim:
        if claim.aside is not None and moved is not None:
            moved(claim.aside)
        if claim.state == "finished":
            return _reopened(study, out, copies)
        files.copy_study(copies, out / files.STUDY)
        with _storage(study, out) as store:
            return _run(study, out, store, team, progress, copies)


@contextmanager
def _written(study: ResolvedStudy, out: Path) -> Iterator[None]:
    """Say of a full disk, and of whatever else refuses what a run writes, that the run goes on."""
    kept = "What was finished is kept, and the next run goes on from there."
    try:
        yield
    except BrokenPipeError:  # who watches went away
        raise
    except OSError as error:
        why = error.strerror or error
        raise StoppedError(f"{study.name}: {out} cannot be written: {why}. {kept}") from error
    except StorageError as error:
        raise StoppedError(f"{study.name}: {error}. {kept}") from error


def _reopened(study: ResolvedStudy, out: Path, copies: Mapping[str, bytes]) -> Result:
    """Return the result of a finished run, with what is missing of its folder made again."""
    kept = files.load_result(out)
    result = replace(kept, target=answer(study, kept))
    asked = result.target != kept.target  # a target of objectives alone is asked of the same run
    if study.file.run.storage is None and not has_trials(out / files.STORAGE):
        with _storage(study, out) as store:
            if store is not None:
                store.register(study.evaluator, front_of(study, result))
    files.copy_study(copies, out / files.STUDY)  # a section may be edited: the result is the same
    edited = not files.holds(out, copies)
    if edited or asked:
        files.save(result, out, copies)
    if edited or asked or not files.read_answer(out) or not (out / files.REPORT).is_file():
        report_into(study, result, out)
    return result


def _workers(study: ResolvedStudy, count: int | None, backend: str | None) -> Workers:
    table = study.file.run
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    chosen = backend or ("loky" if table.processes else "threading")
    return Workers(count or table.workers or cores or 1, chosen)


@contextmanager
def _storage(study: ResolvedStudy, out: Path | None) -> Iterator[Store | None]:
    """Open the run's storage, the study's own or one in the folder: before the work, not after."""
    store = _store_of(study, out)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _store_of(study: ResolvedStudy, out: Path | None) -> Store | None:
    url = study.file.run.storage
    if url is None and out is not None:
        path = str((out / files.STORAGE).resolve())
        if any(character in path for character in "?#%"):
            problem = Problem("", "a database path cannot hold ?, # or %", "give another --out")
            raise InputError(path, [problem])
        url = f"sqlite:///{path}"
    if url is None:
        return None
    from dse.result.connection import make
    from dse.result.storage import Store

    own = out / files.STORAGE if out is not None and study.file.run.storage is None else None
    made = own is not None and not own.is_file()
    if own is not None and made:
        make(own)
    try:
        return Store.open(url, study.name, study.evaluator.objectives, study.digest, made)
    except StorageError as error:
        raise InputError(
            str(study.path or study.name), [Problem("run.storage", str(error))]
        ) from None


def _run(
    study: ResolvedStudy,
    out: Path | None,
    store: Store | None,
    workers: Workers,
    progress: Callable[[Progress], None] | None,
    copies: Mapping[str, bytes],
) -> Result:
    deadline = deadline_of(study, out)
    began = time.monotonic()
    checkpoint = out / files.CHECKPOINT if out is not None else None
    if deadline is not None:
        workers = replace(workers, until=time.time() + deadline.end - began)
    seen = held_to_the_contract(study, workers)
    begun = Start(
        study.evaluator,
        study.plan,
        study.file.run.chunk,
        workers,
        checkpoints.read(checkpoint, study.digest) if checkpoint is not None else {},
        store,
    )
    under_way = method_of(study.plan.method).start(begun)
    error: DseError | None = None
    try:
        stopped = _follow(study, under_way, checkpoint, progress, deadline)
    except DseError as raised:
        error, stopped = raised, f"error: {raised}"
    if under_way.progress().done == 0:
        if error is not None:
            raise StoppedError(f"{study.name}: {error}") from error
        raise KeyboardInterrupt
    outcome, earlier = under_way.outcome(), under_way.earlier()
    stopped = "complete" if outcome.complete else stopped
    if outcome.tally.feasible == 0 and stopped in files.FINISHED:
        nan = np.atleast_1d(np.isnan(outcome.judged.objectives).any(axis=0))
        names = [o.name for o, bad in zip(study.evaluator.objectives, nan, strict=True) if bad]
        place = "constraint" if study.evaluator.constraints else "objective"
        why = why_undefined_objective(study.evaluator, outcome)
        message, remedy = why_infeasible(
            outcome.tally,
            study.evaluator.constraints,
            names,
            why,
            useless(study.evaluator, outcome),
        )
        raise InfeasibleError(str(study.path or study.name), [Problem(place, message, remedy)])
    result = result_of(study, outcome, stopped, time.monotonic() - began, workers, seen, earlier)
    if store is not None and (note := store.note(outcome)):
        result = replace(result, notes=(*result.notes, note))
    result = replace(result, target=answer(study, result))
    if out is not None and checkpoint is not None:
        try:
            if stopped not in files.FINISHED:
                checkpoints.write(checkpoint, under_way.state(), study.digest)
            _keep(study, result, outcome, out, store, copies)
        except (OSError, StorageError):  # what was searched is not searched again, if it fits
            with suppress(OSError):
                checkpoints.write(checkpoint, under_way.state(), study.digest)
            raise
        if stopped in files.FINISHED:
            checkpoint.unlink(missing_ok=True)
        # what ended a process would end this one, which runs models to explain designs
        left = None if deadline is None else deadline.end - time.monotonic()
        spare = 0 if isinstance(error, EndedError) else explainable(study, result, outcome, left)
        report_into(study, result, out, spare)
    if error is not None:
        raise StoppedError(f"{study.name}: {error}") from error
    return result


def held_to_the_contract(study: ResolvedStudy, workers: Workers | None = None) -> dict[str, str]:
    """Run the study's models on a sample of its designs; return what was noted, by quantity.

    If processes work, it is done in one of them.

    Raises
    ------
    InputError
        If a model is not deterministic or not elementwise: no front of it could be trusted.
    """
    workers, timeout = workers or Workers(1), study.plan.timeout
    until = workers.until + _STARTING  # processes begin first
    try:
        found = replace(workers, until=until).alone(audit, study.evaluator, _share(timeout))
    except DesignError as error:
        raise StoppedError(f"{study.name}: {error}") from error
    except LateError as error:
        raise StoppedError(
            f"{study.name}: the models were not done with a few designs after {error.waited:.1f} "
            f"s, when the time was over: {HANGS}"
        ) from None
    if found.problems:
        raise InputError(str(study.path or study.name), found.problems)
    return found.notes


def _share(timeout: float | None) -> float:
    """Return the seconds that the audit may take."""
    return np.inf if timeout is None else _AUDITED * timeout


def _follow(
    study: ResolvedStudy,
    under_way: Search,
    checkpoint: Path | None,
    progress: Callable[[Progress], None] | None,
    deadline: Deadline | None,
) -> str:
    """Work until the end, a time-out or Ctrl-C; return the reason."""
    last = time.monotonic()
    until = NEVER if deadline is None else time.time() + deadline.end - last
    state = under_way.progress()
    try:
        for _ in under_way.steps(until):
            now = time.monotonic()
            state = under_way.progress()
            if progress is not None:
                progress(state)
            if checkpoint is not None and now - last > _CHECKPOINT_SECONDS:
                checkpoints.write(checkpoint, under_way.state(), study.digest)
                last = now
            if deadline is not None and state.done < state.total and deadline.is_over(state.kept):
                return "timeout"
    except KeyboardInterrupt:
        return "interrupted"
    late = deadline is not None and deadline.is_over(0)
    return "timeout" if late and state.done < state.total else "complete"


def _keep(
    study: ResolvedStudy,
    result: Result,
    outcome: Outcome,
    out: Path,
    store: Store | None,
    copies: Mapping[str, bytes],
) -> None:
    """Write storage and tables into the run folder."""
    if store is not None and result.certificate.stopped in files.FINISHED:
        store.register(study.evaluator, outcome)
    files.save(result, out, copies)  # before the report, which runs models again


def report_into(
    study: ResolvedStudy, result: Result, out: Path, explained: int = EXPLAINED
) -> None:
    """Write the report into a run folder, and the answer into its summary; see `report`."""
    files.write_answer(out, report(study, result, out / files.REPORT, explained))


def report(
    study: ResolvedStudy, result: Result, path: Path, explained: int = EXPLAINED
) -> dict[str, Any]:
    """Write the report of a result, with the designs that matter most explained in full.

    Parameters
    ----------
    explained : int
        How many designs to explain, at most, beside the knee and the best ones; 0 for none at all.

    Returns
    -------
    dict
        The answer, as plain values; see `dse.explain.answer`.

    Raises
    ------
    StoppedError
        If a section or the explanations could not be written; the report then lacks them.
    """
    from dse.explain.answer import answer_data, answer_of, designs_of
    from dse.explain.robustness import Robustness, robustness, robustness_data
    from dse.explain.trends import trends
    from dse.explain.uncertain_section import uncertain_section
    from dse.explain.verdict import explain
    from dse.report import write_report

    sections, failed = _sections(study, result)
    explanations, held = [], Robustness()
    numbers = designs_of(study, result) if explained > 0 else []
    try:
        numbers = list(dict.fromkeys((*numbers, *notable(result, explained))))
        held = robustness(study, result, numbers) if numbers else held
        explanations = explain(study, result, numbers, held)
    except ModelError as error:
        failed.append(f"the explanations of designs: {error}")
    answer = answer_of(study, result, explanations)
    choice = answer.designs[0].design if answer.designs else None
    uncertain = uncertain_section(study.uncertainty, held, choice)
    trend = trends(explanations[0].regressions if explanations else ())
    sections = [*uncertain, *trend, *sections]
    wiring = steps(study.evaluator)
    write_report(result, explanations, path, study.text, sections, wiring, answer)
    if failed:
        raise StoppedError(f"{study.name}: the report lacks {'; '.join(failed)}")
    return answer_data(answer) | robustness_data(held)


def _sections(study: ResolvedStudy, result: Result) -> tuple[list[Section], list[str]]:
    """Return the sections, and what went wrong with those that could not be written."""
    from dse.model.section import Section

    written, failed = [], []
    for name, write in study.sections if len(result.front) else ():
        try:
            section = write(study, result)
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            failed.append(f"the section {name}, which raised {type(error).__name__}: {error}")
            continue
        if isinstance(section, Section):
            written.append(section)
        else:
            failed.append(f"the section {name}, which returned {type(section).__name__}")
    return written, failed


def notable(result: Result, count: int = EXPLAINED) -> list[int]:
    """Return the designs to explain first: the knee, the best ones, and an even sample."""
    front = result.front
    if len(front) == 0 or count <= 0:
        return []
    chosen = [front.knee().name, *(front.best(o.name).name for o in result.objectives)]
    every = front.designs.index.to_numpy()
    if len(result.designs) <= count:
        every = result.designs.index[result.designs["feasible"].to_numpy(dtype=bool)].to_numpy()
    spread = every[np.unique(np.linspace(0, len(every) - 1, count).astype(int))]
    return list(dict.fromkeys(int(n) for n in (*chosen, *spread)))[: count + len(chosen)]
