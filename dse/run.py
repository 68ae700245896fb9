"""A run in five steps: prepare, search, check, keep, report; an interrupted search resumes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dse.evaluate.audit import RepeatabilityError, audit_models
from dse.evaluate.failures import DesignError
from dse.evaluate.graph_summary import list_steps
from dse.evaluate.model_graph import ModelError
from dse.explain.benefit import find_useless_designs
from dse.explain.targets import answer_target
from dse.problems import DseError, InfeasibleError, InputError, Problem
from dse.result import folder as files
from dse.result.database import FrontDatabase, StorageError, has_trials
from dse.result.files import read_state, write_state
from dse.result.lease import lease_folder
from dse.result.progress import ProgressNotes, note_resumption
from dse.result.record import CUT_SHORT, ERROR, Result
from dse.result.tables import make_front, make_result
from dse.search.base import METHODS, Progress, Search, Start, find_method
from dse.search.bound.refutation import RefutedError
from dse.search.cluster import Cluster, ClusterError
from dse.search.diagnosis import (
    explain_if_all_skipped,
    explain_infeasibility,
    explain_undefined_objective,
)
from dse.search.formulation import refuse_own_hosts
from dse.search.outcome import Outcome
from dse.search.verification import Verification, verify_outcome
from dse.search.workers import HANGS, NEVER, EndedError, LateError, Workers, is_late
from dse.study.execution import METHOD, choose_search, choose_workers
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from dse.explain.explanation import Explanation
    from dse.result.storage import Store

_SAMPLERS = "dse.search.optuna_adapter"  # the module of methods that keep each trial
_ESCAPES = str.maketrans({c: f"%{ord(c):02X}" for c in "%?#"})  # of a path in a URL
NOTE_INTERVAL = 2.0  # seconds between two notes of the progress, which `dse status` reads
_MIN_NEW, _MAX_NEW = 16, 1 << 22  # the bounds of the number of designs between two checkpoints
LARGEST_FRONT = 2_000_000  # designs: about 500 MB, and ten seconds to write
_AUDIT_FRACTION = 0.25  # of the time limit
_KEPT = "what was finished is kept, and the next run goes on from there"


class StoppedError(DseError):
    """A model's error ended the run; the results before the error are kept."""

    exit_code = 1


class _Session(NamedTuple):
    """A run under way: the study with its plan, where it is kept, who works, and the search."""

    study: ResolvedStudy
    out: Path | None
    copies: Mapping[str, bytes]
    store: Store | FrontDatabase | None
    workers: Workers
    notes: Mapping[str, str]
    search: Search
    earlier: Progress
    began: float

    def save_checkpoint(self) -> None:
        """Write the state and the method of the search, from which another run continues."""
        if self.out is not None and (state := self.search.state()):
            state = {**state, METHOD: np.array(self.study.plan.key)}
            write_state(self.out / files.CHECKPOINT, state, self.study.digest)

    def drop_checkpoint(self) -> None:
        """Remove the checkpoint and the note of the progress: nothing can go on from them."""
        if self.out is not None:
            (self.out / files.CHECKPOINT).unlink(missing_ok=True)
            (self.out / files.PROGRESS).unlink(missing_ok=True)


class _Ended(NamedTuple):
    """A search that has ended: its outcome, the reason, and the error, if any."""

    outcome: Outcome
    stopped: str
    error: DseError | None

    @property
    def goes_on(self) -> bool:
        """Whether another run can continue."""
        return self.stopped not in files.FINISHED or self.stopped == files.TIMEOUT


def run(
    study: ResolvedStudy,
    out: Path | None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cluster: Cluster | None = None,
    fresh: bool = False,
    moved: Callable[[Path], None] | None = None,
    begins: Callable[[ResolvedStudy], None] | None = None,
) -> Result:
    """Run a study; see `Study.run`.

    Parameters
    ----------
    cluster : Cluster, optional
        By default the backend of `joblib.parallel_config` around the call, else threads or
        processes, as in the study.
    fresh : bool
        Whether to start again if the folder holds a run of the study; that run moves aside.
    moved, begins : callable, optional
        Called with the new place of a run that is moved aside, and with the study before its
        search: the audit of the models may change the plan.

    Raises
    ------
    InfeasibleError
        If no feasible design was found.
    InputError
        If the folder cannot be used, or an objective compares each design with its own host.
    StoppedError
        If a model raised; what was done is saved first.
    """
    refuse_own_hosts(study.evaluator, str(study.path or study.name))
    team = choose_workers(study, workers, cluster)
    if out is None:
        with _open_storage(study, None) as store:
            return _complete(_prepare(study, None, {}, store, team, begins), progress)
    copies, out = files.list_copies(study), Path(os.path.abspath(out))  # a model may go elsewhere
    known, seconds = (study.digest, study.name), study.plan.timeout or np.inf
    with _writing(study), lease_folder(out, *known, fresh, copies, seconds) as lease:
        if lease.aside is not None and moved is not None:
            moved(lease.aside)
        if lease.state == "finished":
            return _reopen(study, out, copies)
        if lease.state == "resume":
            note_resumption(out)
        files.copy_study(copies, out)
        with _open_storage(study, out) as store:
            return _complete(_prepare(study, out, copies, store, team, begins), progress)


def _complete(session: _Session, progress: Callable[[Progress], None] | None) -> Result:
    ended = _search(session, progress)
    result = _keep(session, ended, _check(session, ended))
    _report(session, ended, result)
    return result


# Prepare


def _prepare(
    study: ResolvedStudy,
    out: Path | None,
    copies: Mapping[str, bytes],
    store: Store | FrontDatabase | None,
    workers: Workers,
    begins: Callable[[ResolvedStudy], None] | None,
) -> _Session:
    """Start workers, check the models against their contract, and start or resume the search."""
    began = time.monotonic()
    if study.plan.timeout is not None:
        now = time.time()
        workers = replace(workers, until=now + study.plan.timeout, since=now)
    notes = check_contract(study, workers)
    state = read_state(out / files.CHECKPOINT, study.digest) if out is not None else {}
    study = choose_search(study, workers, str(state.pop(METHOD, "")))
    if begins is not None:
        begins(study)
    trials = None if isinstance(store, FrontDatabase) else store
    start = Start(study.evaluator, study.plan, study.file.run.chunk, workers, state, trials)
    try:
        search = find_method(study.plan.method).start(start)
    except (DesignError, ModelError) as error:
        raise StoppedError(f"{study.name}: {error}") from error
    return _Session(study, out, copies, store, workers, notes, search, search.progress(), began)


@contextmanager
def _open_storage(study: ResolvedStudy, out: Path | None) -> Iterator[Store | FrontDatabase | None]:
    """Open the storage of a run before its search: the one that the study names, or the folder's.

    Raises
    ------
    InputError
        If the storage cannot be used.
    """
    url, objectives = study.file.run.storage, study.evaluator.objectives
    own = None
    if url is None and out is not None:
        own = FrontDatabase(out / files.STORAGE, study.name, study.digest)
    if url is None and (own is None or METHODS.get(study.plan.method) != _SAMPLERS):
        yield own
        return
    from dse.result.storage import Store

    made = own is not None and not own.path.is_file()
    try:
        if own is not None:
            if made:
                own.create(objectives)
            url = f"sqlite:///{str(own.path.resolve()).translate(_ESCAPES)}"
        store = Store.open(str(url), study.name, objectives, study.digest, made)
    except StorageError as error:
        problem = Problem("run.storage", str(error))
        raise InputError(str(study.path or study.name), [problem]) from None
    try:
        yield store
    finally:
        store.close()


def check_contract(
    study: ResolvedStudy, workers: Workers | None = None, seconds: float = np.inf
) -> dict[str, str]:
    """Run the study's models on a sample of its designs; return the notes, by quantity.

    It takes at most so many seconds, and a fraction of the time limit. If processes work, one of
    them runs the sample.

    Raises
    ------
    InputError
        If a model is not deterministic or not elementwise: its front would be wrong.
    """
    workers, timeout = workers or Workers(1), study.plan.timeout
    if timeout is not None:
        seconds = min(seconds, _AUDIT_FRACTION * timeout)
    try:
        halfway = replace(workers, until=workers.midway)  # the search names a design that hangs
        found = halfway.call(audit_models, study.evaluator, seconds)
    except LateError as error:
        why = f"they were not done with a few designs after {error.waited:.1f} s: {HANGS}"
        return {"study.models": f"the models were not held to their contract: {why}"}
    except DesignError as error:
        raise StoppedError(f"{study.name}: {error}") from error
    if found.problems:
        raise InputError(str(study.path or study.name), found.problems)
    return found.notes


# Search


def _search(session: _Session, progress: Callable[[Progress], None] | None) -> _Ended:
    """Search until the end, the time limit, Ctrl-C or an error."""
    error: DseError | None = None
    try:
        stopped = _follow(session, progress)
    except DseError as raised:
        error, stopped = raised, f"{ERROR}{raised}"
    if session.search.progress().done == 0:
        if error is not None:
            raise StoppedError(f"{session.study.name}: {error}") from error
        raise KeyboardInterrupt
    outcome = session.search.outcome()
    return _Ended(outcome, "complete" if outcome.complete else stopped, error)


def _follow(session: _Session, progress: Callable[[Progress], None] | None) -> str:
    """Work until the end, the time limit or Ctrl-C; return the reason."""
    search, until, state = session.search, session.workers.until, session.search.progress()
    noted, kept = time.monotonic(), state.work
    method = session.study.plan.method
    notes = ProgressNotes(session.out, method, state) if session.out is not None else None
    try:
        for _ in search.steps(until):
            state = search.progress()
            if progress is not None:
                progress(state)
            if state.front > LARGEST_FRONT:
                raise StoppedError(
                    f"the front has more than {LARGEST_FRONT:,} designs. Give a tolerance, larger "
                    "steps of variables, or fewer objectives"
                )
            if is_checkpoint_due(state, kept):
                session.save_checkpoint()
                kept = state.work
            if notes is not None and time.monotonic() - noted > NOTE_INTERVAL:
                notes.write(state)
                noted = time.monotonic()
            if is_late(until) and state.done < state.total:
                return "timeout"
    except KeyboardInterrupt:
        return "interrupted"
    return "timeout" if is_late(until) and state.done < state.total else "complete"


def is_checkpoint_due(state: Progress, kept: int) -> bool:
    """Return whether to write a checkpoint: after half as many designs as were kept before.

    Checkpoints thus follow the work and not the clock. If the number doubles, their cost stays a
    fixed fraction of the work. Beyond `_MAX_NEW` designs the interval is constant, unless the front
    is large and takes long to write.
    """
    new = state.work - kept
    return new >= min(max(_MIN_NEW, kept // 2), max(_MAX_NEW, 64 * state.kept))


# Check


def _check(session: _Session, ended: _Ended) -> Verification | None:
    """Evaluate designs again before their front is certified; None if nothing is to be checked.

    Raises
    ------
    InfeasibleError
        If no feasible design was found.
    StoppedError
        If a design gives another value, or two designs contradict a declaration. The state of the
        search is then wrong, and is removed.
    """
    study, outcome, check = session.study, ended.outcome, None
    claims = outcome.complete or (outcome.gap is not None and np.isfinite(outcome.gap.reached))
    claims &= ended.error is None
    if study.evaluator.model_graph.models and (claims or not ended.goes_on):
        try:
            workers = replace(session.workers, until=NEVER)
            check = workers.call(verify_outcome, study.evaluator, outcome)
        except (RepeatabilityError, RefutedError) as error:
            session.drop_checkpoint()
            raise StoppedError(f"{study.name}: {error} No result is kept.") from error
        except DesignError as error:
            raise StoppedError(f"{study.name}: evaluated again, {error}") from error
    if not outcome.tally.feasible and ended.stopped in files.FINISHED:
        session.drop_checkpoint()
        raise _infeasible(study, outcome)
    return check


def _infeasible(study: ResolvedStudy, outcome: Outcome) -> DseError:
    """Return the error of a study without a feasible design."""
    if skipped := explain_if_all_skipped(outcome.tally):
        return StoppedError(f"{study.name}: {skipped}")
    evaluator = study.evaluator
    undefined = np.atleast_1d(np.isnan(outcome.evaluated.objectives).any(axis=0))
    message, remedy = explain_infeasibility(
        outcome.tally,
        evaluator.constraints,
        [o.name for o, bad in zip(evaluator.objectives, undefined, strict=True) if bad],
        explain_undefined_objective(evaluator, outcome),
        find_useless_designs(evaluator, outcome),
        outcome.complete,
        outcome.tally.evaluated == evaluator.space.size,
    )
    place = "constraint" if evaluator.constraints else "objective"
    return InfeasibleError(str(study.path or study.name), [Problem(place, message, remedy)])


# Keep


def _keep(session: _Session, ended: _Ended, check: Verification | None) -> Result:
    """Make the result; write storage, tables, and a checkpoint if another run can continue."""
    study, out, store, outcome = session.study, session.out, session.store, ended.outcome
    seconds, earlier = time.monotonic() - session.began, session.earlier
    result = make_result(
        study, outcome, ended.stopped, seconds, session.workers, session.notes, earlier
    )
    if check is not None:
        result = replace(result, certificate=result.certificate.checked_on(check))
    if store is not None and (note := store.note(outcome)):
        result = replace(result, notes=(*result.notes, note))
    result = replace(result, target=answer_target(study, result))
    if out is None:
        return result
    try:
        if ended.goes_on:
            session.save_checkpoint()
        if store is not None and ended.stopped in files.FINISHED:
            store.register(study.evaluator, outcome)
        files.save_result(result, out, session.copies, study.outside)
    except (OSError, StorageError):  # keep the state, if the disk has space for it
        with suppress(OSError):
            session.save_checkpoint()
        raise
    if not ended.goes_on:
        session.drop_checkpoint()
    (out / files.PROGRESS).unlink(missing_ok=True)
    return result


@contextmanager
def _writing(study: ResolvedStudy) -> Iterator[None]:
    """Turn an error of writing, such as a full disk, into a message that the run can continue."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has ended
        raise
    except OSError as error:
        file = error.filename or "the output of the command"  # our own files have their names
        why = error.strerror or error
        raise StoppedError(f"{study.name}: {file} cannot be written: {why}; {_KEPT}") from error
    except StorageError as error:
        raise StoppedError(f"{study.name}: {error}; {_KEPT}") from error


def _reopen(study: ResolvedStudy, out: Path, copies: Mapping[str, bytes]) -> Result:
    """Return the result of a finished run; make missing files of its folder again."""
    kept = files.load_result(out)
    result = replace(kept, target=answer_target(study, kept))
    if study.file.run.storage is None and not has_trials(out / files.STORAGE):
        with _open_storage(study, out) as store:
            if store is not None:
                store.register(study.evaluator, make_front(study, result))
    files.copy_study(copies, out)
    changed = result.target != kept.target or not files.is_of_study(out, copies, study.outside)
    if changed:
        files.save_result(result, out, copies, study.outside)
    if changed or not files.read_answer(out) or not (out / files.REPORT).is_file():
        report_into(study, result, out)
    return result


# Report


def _report(session: _Session, ended: _Ended, result: Result) -> None:
    """Write the report, and raise the error that ended the search."""
    study, error = session.study, ended.error
    if session.out is not None:
        # A model that ended or blocked a process would do so in this one. After Ctrl-C the user
        # waits for the result.
        unsafe = ended.stopped in CUT_SHORT and study.file.run.processes
        waits = ended.stopped == "interrupted" or isinstance(error, EndedError)
        report_into(study, result, session.out, explains=not (unsafe or waits))
    if error is not None:
        kept = f"; {_KEPT}" if session.out is not None and isinstance(error, ClusterError) else ""
        raise StoppedError(f"{study.name}: {error}{kept}") from error


def report_into(
    study: ResolvedStudy, result: Result, out: Path, explains: bool = True, thorough: bool = False
) -> None:
    """Write the report into a run folder, and the answer into its summary; see `report`."""
    try:
        answer = report(study, result, out / files.REPORT, explains, thorough)
    except MemoryError as error:
        message = f"there is not enough memory for the report; {out} has the result"
        raise StoppedError(f"{study.name}: {message}") from error
    files.write_answer(out, answer)


def report(
    study: ResolvedStudy,
    result: Result,
    path: Path,
    explains: bool = True,
    thorough: bool = False,
    scripts: Sequence[str] = (),
) -> dict[str, Any]:
    """Write the report of a result, with the designs that matter most explained in full.

    Models run again only if it `explains` designs. A `thorough` report has switch points and prices
    of limits of a large space too. The page may have further scripts.

    Returns
    -------
    dict
        The answer, as plain values; see `dse.explain.recommendation`.

    Raises
    ------
    StoppedError
        If a section or the explanations could not be written; the report then lacks them.
    """
    from dse.explain.explanation import find_slices
    from dse.explain.provenance import InputProvenance, provenance_data, provenance_section
    from dse.explain.recommendation import (
        answer_data,
        assess_inputs,
        explain_most_important,
        make_answer,
    )
    from dse.explain.robustness import (
        Robustness,
        ranking_section,
        robustness_data,
        robustness_section,
    )
    from dse.explain.system import system_section
    from dse.report.overview import make_overview
    from dse.report.page import write_report
    from dse.report.panels import write_sections

    sections, failed = write_sections(study, result)
    explanations: list[Explanation] = []
    robustness, provenance = Robustness(), InputProvenance(study.inputs)
    try:
        if explains:
            explanations, robustness = explain_most_important(study, result)
        provenance = assess_inputs(study, result, explains, thorough)
    except ModelError as error:
        failed.append(f"the explanations of designs: {error}")
    answer = make_answer(study, result, explanations, provenance)
    choice = answer.designs[0].design if answer.designs else None
    uncertain = robustness_section(robustness, choice)
    ranking = ranking_section(explanations[0].ranking if explanations else {})
    system = system_section(study, result, choice) if explains else []
    sections = [*system, *ranking, *sections]
    evidence = [*provenance_section(provenance), *uncertain]
    model_graph = list_steps(study.evaluator)
    overview = make_overview(study, result, provenance, answer)
    slices = find_slices(study, result, [each.design for each in explanations])
    write_report(
        *(result, explanations, path, study.text, sections, model_graph, answer, overview),
        evidence=evidence,
        slices=slices,
        scripts=scripts,
    )
    if failed:
        raise StoppedError(f"{study.name}: the report lacks {'; '.join(failed)}")
    return answer_data(answer) | robustness_data(robustness) | provenance_data(provenance)
