"""The answer of a run: what pays, what is recommended, and that its words tell the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

import dse
from dse.evaluate.front import scaled
from dse.explain.explanation import explain
from dse.explain.recommendation import Answer, make_answer, named_designs
from dse.result.folder import read_answer
from tests.core_examples import command
from tests.explain.examples import study


def answered(made: dse.Study) -> tuple[Answer, dse.StudyResult]:
    result = made.run()
    return make_answer(made, result, explain(made, result, named_designs(made, result))), result


def test_a_space_in_which_nothing_pays_is_said_to_be_so_first() -> None:
    answer, result = answered(study(host_time=150.0))
    best = float(result.front.designs["speedup"].max())
    assert best < 1
    assert not answer.pays
    assert answer.short[0] == answer.verdict
    assert answer.verdict.startswith("Nothing in this space is beneficial: the best speedup is")
    assert f"{best:.3g}" in answer.verdict
    # nothing is advised to be built: the nearest is named as such, alone
    (nearest,) = answer.designs
    assert result.front.designs["speedup"][nearest.design] == best
    assert nearest.build.startswith(f"Nearest is design {nearest.design}")
    assert "Build" not in str(answer)
    assert not nearest.change
    assert named_designs(study(host_time=150.0), result) == [nearest.design]


def test_where_all_pays_nothing_is_said_of_it() -> None:
    answer, _ = answered(study(host_time=9000.0))
    assert (answer.verdict, answer.pays) == ("", True)


def test_where_a_part_pays_its_count_is_told_and_what_is_recommended_pays() -> None:
    answer, result = answered(study(host_time=900.0))
    speedups = result.front.designs["speedup"]
    losing = int((speedups <= 1).sum())
    assert 0 < losing < len(speedups)
    assert answer.pays
    assert f"Of the {len(speedups)} designs on the front, {losing} designs are not beneficial" in (
        answer.verdict
    )
    assert speedups.loc[answer.designs[0].design] > 1
    # nothing that still pays is advised into loss
    for found in explain(study(), result, list(speedups.index[speedups > 1])):
        after = [e.after for i in found.advice for e in i.effects if e.objective == "speedup"]
        assert all(value > 1 for value in after)


def test_one_design_that_does_not_pay_is_told_in_the_singular() -> None:
    counts = set[int]()
    for host_time in (2000.0, 2600.0):
        answer, result = answered(study(host_time=host_time))
        losing = int((result.front.designs["speedup"] <= 1).sum())
        counts.add(losing)
        if losing:
            told = (
                "1 design is not beneficial: its"
                if losing == 1
                else "designs are not beneficial: their"
            )
            assert f"{told} speedup is not above 1." in answer.verdict
    assert 1 in counts


def test_the_best_of_equals_is_the_nearest_to_the_best_of_all() -> None:
    """It was the first one: of 134 designs that break even at once, one that is best in nothing."""
    made = {
        "study": {"name": "ties", "models": ["objectives.logca:speedup"]},
        "inputs": {"computational_index": 90, "granularity": 4096, "latency": 100},
        "space": {
            "acceleration": {"values": [2, 4, 32]},
            "overhead": {"values": [100, 1000, 9000, 90_000]},
        },
        "objective": [
            {"maximize": "speedup"},
            {"minimize": "acceleration"},
            {"maximize": "overhead"},
        ],
    }
    result = dse.from_mapping(made).run()
    front = result.front
    unit, _ = scaled(front.points, np.array([o.sign for o in front.objectives]))
    moved = 0
    for i, objective in enumerate(front.objectives):
        equal = np.flatnonzero(front.points[:, i] == front.points[:, i].min())
        wanted = min(equal.tolist(), key=lambda row: float((unit[row] ** 2).sum()))
        assert len(equal) > 1 or objective.name == "speedup"
        assert front.best(objective.name).name == front.designs.index[wanted]
        moved += wanted != equal[0]
    assert moved > 0


@pytest.mark.parametrize("search", ["exhaustive", "bound", "evolution"])
def test_a_search_that_was_cut_short_says_so_first(search: str) -> None:
    """It said "Build design …" of the first corner of a space."""
    names = {f"v{k}": {"integer": [1, 30]} for k in range(3)}
    made = dse.from_mapping(
        {
            "study": {"name": "cut", "models": ["f"]},
            "space": names,
            "objective": [{"minimize": "cost"}, {"maximize": "v0"}],
            "search": {"method": search},
            "run": {"chunk": 600},
        },
        models={"f": summed},
    )

    def interrupt(state: object) -> None:
        raise KeyboardInterrupt

    result = made.run(workers=1, progress=interrupt)
    assert not result.certificate.complete
    told = make_answer(made, result).short[0]
    if search == "evolution":
        assert told.startswith("Build design")
    else:
        assert told.startswith("The search was cut short, and there may be better: ")
    if search == "exhaustive":
        assert result.certificate.evaluated == 1
        assert "1 of 27,000 designs was evaluated." in told
    if search == "bound":
        assert f"{result.certificate.decided:.3%} of the space is decided." in told


Number = Annotated[dse.Floats, dse.Quantity("1", "a number", above=0)]


class Cost(NamedTuple):
    cost: Number


def summed(v0: Number, v1: Number, v2: Number) -> Cost:
    return Cost(v0 * v1 + v2)


def test_the_recommended_design_is_the_compromise_if_all_pay() -> None:
    answer, result = answered(study(host_time=9000.0))
    assert answer.designs[0].design == result.compromise().name
    roles = {each.role: each.design for each in answer.designs[1:]}
    assert roles == {
        "highest speedup": result.best("speedup").name,
        "lowest area": result.best("area").name,
    }


def test_the_paragraph_names_parts_and_tells_the_values_and_the_time() -> None:
    answer, result = answered(study(host_time=9000.0))
    best = answer.designs[0]
    row = result.designs.loc[best.design]
    assert f"bus {row['bus']}" in best.build
    assert f"{row['lanes']} lane" in best.build
    assert f"speedup {result.front.designs['speedup'].loc[best.design]:.3g}" in best.gives
    work = 1000 / row["lanes"] * (1 + 1 / row["depth"])
    share = max(work, row["bus_wait"]) / (work + row["bus_wait"])
    assert f"Of its time, {100 * share:.0f} % is" in best.time
    assert "(design " in best.change


def test_a_study_that_only_minimizes_has_an_answer() -> None:
    made = study(objective=[{"minimize": "time"}, {"minimize": "area"}])
    answer, _ = answered(made)
    assert answer.verdict == ""
    assert answer.designs[0].gives.startswith("It has time ")
    assert "Of its time, " in answer.designs[0].time


def test_one_design_on_the_front_is_recommended_without_runners_up() -> None:
    answer, result = answered(study(host_time=9000.0, objective=[{"maximize": "speedup"}]))
    assert len(result.front) == len(answer.designs) == 1
    assert "only design on the front" in answer.designs[0].why


def test_the_answer_is_in_the_summary_the_page_and_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = Path(__file__).parents[2] / "studies" / "sparc_evolution.toml"
    folder = tmp_path / "run"
    _, out, _ = command(monkeypatch, capsys, "run", str(shipped), "--out", str(folder))
    kept = read_answer(folder)
    assert kept["designs"][0]["design"] == 4
    words = " ".join(out.split())
    for sentence in kept["short"]:
        assert sentence in words
    assert words.index(kept["short"][0]) < words.index("Complete:")
    page = (folder / "report.html").read_text()
    assert 'data-design="4" class="recommended"' in page
    assert kept["designs"][0]["build"] in page
    (folder / "report.html").unlink()
    command(monkeypatch, capsys, "report", str(folder))
    assert read_answer(folder) == kept
    assert json.loads((folder / "summary.json").read_text())["compromise"] == 4


def test_every_number_of_an_answer_is_short() -> None:
    answer, _ = answered(study(host_time=9000.0))
    for each in answer.designs:
        for sentence in each.sentences:
            for word in sentence.replace(",", "").split():
                digits = word.strip("().;:×%").replace(".", "")
                if digits.isdigit():
                    assert len(digits.strip("0")) <= 4 or int(digits) == each.design
    assert np.isfinite(answer.designs[0].design)


@pytest.mark.parametrize("name", ["gpu_memory", "rotate", "shared_pipeline"])
def test_shipped_studies_answer_in_plain_words(name: str) -> None:
    made = dse.load(Path(__file__).parents[2] / "studies" / f"{name}.toml")
    answer = made.run().answer()
    for each in answer.designs:
        text = " ".join(each.sentences)
        assert "_" not in each.gives
        assert "e+" not in text
        assert "nan" not in text.split()
    best = answer.designs[0]
    assert best.build.startswith(f"Build design {best.design}: ")
    assert best.why
    assert best.change


def test_a_ratio_goes_where_its_divisor_goes() -> None:
    made = study()
    (found,) = explain(made, made.run(), [0])
    shares = {part.name: part.share for part in found.parts if part.total == "time"}
    assert {part.objective for part in found.parts} == {"speedup"}
    assert shares == {"work": 2000 / 2400, "wait": 400 / 2400}
