"""Samplers of several processes on one storage: each draws a part of what the study asks for.

Before it draws, a process reads what others have drawn since; what it draws then depends on that
and on the number of its first draw, so that no two draw alike. What trials give is read, too:
nothing is evaluated again.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from optuna.trial import FrozenTrial

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.judging import Judged, arrays_of, of_arrays
from dse.evaluate.space import Points
from dse.search.asking import (
    Snapping,
    asked_of,
    distributions,
    in_memory,
    quiet,
    recall,
    recalled,
    registered,
    tell,
)
from dse.search.base import Plan, Trials
from dse.search.judges import Judges
from dse.search.parts import WAIT, Part, Parts, cuts
from dse.search.workers import is_late

_FEWEST = 16  # parts, if there are as many draws


def sample_together(
    evaluator: Evaluator, plan: Plan, trials: Trials, parts: Parts, judges: Judges, until: float
) -> Iterator[Judged | None]:
    """Search with an Optuna sampler; yield what anybody has drawn, in order; None while waiting.

    The parameters are those of `samplers.sample`.
    """
    together = _Together(evaluator, plan, trials, parts, judges)
    size = min(plan.generation, max(1, plan.evaluations // _FEWEST))
    parts.join(cuts(plan.evaluations, size))
    try:
        while True:
            yield from together.news()
            if is_late(until):
                return
            claimed = parts.claim(1)
            for part in claimed:
                together.draw(part, until)
            if not claimed:
                standing = parts.standing()
                if standing.done >= standing.total:
                    yield from together.news()
                    return
                time.sleep(WAIT)
                yield None
    finally:
        parts.leave()


class _Together:
    """The trials that this process knows of, in memory, as the sampler is to see them."""

    def __init__(
        self, evaluator: Evaluator, plan: Plan, trials: Trials, parts: Parts, judges: Judges
    ) -> None:
        self._evaluator, self._plan, self._judges = evaluator, plan, judges
        self._trials, self._parts = trials, parts
        self._study, self._known = in_memory(evaluator), 0  # trials
        self._shared = distributions(evaluator.space)
        self._first: dict[tuple[Any, ...], int] = {}  # by design, the trial that first had it
        self._read: set[int] = set()  # what was handed in
        self._given: dict[int, Mapping[str, NDArray[Any]]] = {}  # by its first trial
        self._own: set[int] = set()  # first trials of what was drawn here

    def news(self) -> Iterator[Judged]:
        """Yield the trials that were added to the storage since the last time."""
        trials = self._trials.trials()  # what was handed in with them is there then
        for number, arrays in self._parts.results(self._read):
            self._read.add(number)
            if arrays is not None:
                self._given[int(arrays["first"])] = arrays
        state = self._trials.state()
        while self._known < len(trials):
            low, given = self._known, self._given.pop(self._known, None)
            if given is None:  # somebody else wrote them, or what they give is damaged
                high = min([n for n in self._given if n > low], default=len(trials))
                batch = recalled(self._evaluator, trials[low:high], self._judges)
            else:
                high = low + len(given["feasible"])
                judged = of_arrays(given)
                batch = Judged(self._points(trials[low:high]), judged, low not in self._own)
            recall(self._study, trials[low:high], state)
            registered(trials[low:high], self._shared, self._first)
            self._known = high
            yield batch

    def _points(self, trials: Sequence[FrozenTrial]) -> Points:
        labels = {name: [t.params[name] for t in trials] for name in self._shared}
        return self._evaluator.space.from_labels(labels)

    def draw(self, part: Part, until: float) -> None:
        """Draw a part, evaluate it, and hand it in: `news` then has it as well."""
        draws = range(part.low, part.high)
        asked, points = asked_of(self._study, self._evaluator, self._plan, draws, until, False)
        judged = self._judges.judge(points, part.low, until)
        with quiet():
            for i, trial in enumerate(asked[: len(judged)]):
                tell(self._study, trial, self._evaluator, judged, i)
            told = self._study.get_trials(deepcopy=False)[self._known :][: len(judged)]

        def made(first: int) -> list[FrozenTrial]:
            others = self._trials.trials()[self._known : first]
            registered(others, self._shared, self._first)
            self._own.add(first)
            return registered(_numbered(told, first), self._shared, self._first)

        state = self._study._storage.get_study_system_attrs(self._study._study_id)
        done = part._replace(high=part.low + len(judged))
        self._trials.append_part(done, made, state, arrays_of(judged))
        memory = self._study._storage
        if isinstance(memory, Snapping):
            memory.forget(self._known)


def _numbered(trials: Sequence[FrozenTrial], first: int) -> list[FrozenTrial]:
    """Return trials with the numbers that they have in the storage."""
    found = [copy.copy(trial) for trial in trials]
    for number, trial in enumerate(found, first):
        trial.number = number
    return found
