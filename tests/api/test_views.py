"""What scripts and notebooks show of studies and results: short, and with every text escaped."""

from __future__ import annotations

import functools
import pydoc
from html.parser import HTMLParser
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dse

EVIL = "<script>alert('x')</script>"


class Out(NamedTuple):
    speed: Annotated[dse.Array, dse.Quantity("1", "speed", low=0)]
    area: Annotated[dse.Array, dse.Quantity("LUT", "area", low=0)]


def scaled(
    x: Annotated[dse.Floats, dse.Quantity("1", "lanes", low=1, integer=True, better="higher")],
    kind: Annotated[dse.Floats, dse.Quantity("1", "a kind", low=0, better="higher")],
) -> Out:
    return Out(np.asarray(x * kind), np.asarray(x) * 2000.0)


def _study() -> dse.Study:
    return dse.from_mapping(
        {
            "study": {"name": f"a {EVIL}", "about": EVIL, "models": ["f"]},
            "space": {
                "x": {"integer": [1, 4]},
                "part": {"rows": {EVIL: {"kind": 2}, "plain": {"kind": 1}}},
            },
            "objective": [{"maximize": "speed", "name": EVIL}, {"minimize": "area"}],
            "constraint": [{"quantity": "area", "at_most": 7000}],
        },
        models={"f": scaled},
    )


@functools.cache
def _run() -> tuple[dse.Study, dse.StudyResult]:
    study = _study()
    return study, study.run(workers=1)


def test_everything_is_shown_in_a_line() -> None:
    study, result = _run()
    assert repr(study) == f"<Study 'a {EVIL}': f; 8 designs>"
    assert repr(result) == f"<StudyResult 'a {EVIL}': 3 designs on the front, certified>"
    wanted = f"maximize {EVIL}, minimize area"
    assert repr(result.front) == f"<Front of 'a {EVIL}': 3 designs; {wanted}>"
    best = result.best("area")
    explained = result.explain(best)
    assert repr(explained) == f"<Explanation of design 0: {EVIL} = 2, area = 2,000 LUT>"
    assert str(explained).startswith("design 0: ")
    table = explained.bottlenecks()
    assert table.loc[table["input"] == "x", "gain"].tolist() == ["10×"]
    infeasible = result.explain(6)  # four lanes
    assert "infeasible: area <= 7000 is violated by 1,000 LUT" in repr(infeasible)
    assert len(repr(dse.load("studies/crypto.toml"))) < 100
    comparison = dse.compare(result, result)
    assert repr(comparison).endswith("equal fronts; 0 differences>")
    assert "(first)" in str(comparison)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_notebooks_show_tables_and_every_text_is_escaped() -> None:
    study, result = _run()
    sweep = study.sweep("part", [EVIL, "plain"], workers=1)
    comparison = dse.compare(result, result, EVIL, "other")
    shown: list[Any] = [study, result, result.front, result.explain(), sweep, comparison]
    for each in shown:
        read = _Tags()
        read.feed(each._repr_html_())
        assert read.tags <= {"p", "table", "thead", "tbody", "tr", "th", "td"}, each
        assert EVIL in "".join(read.texts), each


def test_a_result_without_designs_is_shown_and_one_without_its_study_says_whom_to_ask() -> None:
    result = _study().run(workers=1)
    empty = dse.StudyResult(**{**vars(result), "designs": result.designs.iloc[:0]})
    assert "0 designs on the front" in repr(empty)
    assert "<table" not in empty._repr_html_()
    assert empty.front._repr_html_()
    with pytest.raises(dse.InputError, match=r"study.explain\(result, design\)"):
        dse.StudyResult.of(result).explain()


def test_whole_quantities_are_integers_and_rows_hold_plain_values(tmp_path: Any) -> None:
    study, result = _run()
    kept = study.run(tmp_path / "run", workers=1)
    back = dse.load_result(tmp_path / "run")
    for each in (result, kept, back):
        assert each.designs["x"].dtype == np.int64
        assert each.designs["area"].dtype == np.float64
        best = each.best("area")
        assert type(best["x"]) is int
        assert type(best["area"]) is float
        assert type(best["part"]) is str
        assert best.name == 0
    crypto = dse.load("studies/crypto.toml")
    few = crypto.with_inputs(engine="aes-4-rounds", lanes=2, streams=64, calls_in_flight=2)
    values = few.run(workers=1)
    whole = ("lanes", "pipeline_depth", "streams", "schedule_period", "calls_in_flight")
    assert {values.front.designs[n].dtype for n in whole} == {np.dtype(np.int64)}


def test_help_documents_every_public_name() -> None:
    told = pydoc.plain(pydoc.render_doc(dse))
    assert dse.testing.check_model.__module__ == "dse.model.testing"
    assert set(dse.__all__) <= set(dir(dse))
    for name in dse.__all__:
        assert name in told
        assert (getattr(dse, name).__doc__ or "").strip() or name == "Array", name
    for method in ("with_inputs", "with_row", "sweep", "evaluate", "run", "explain", "report"):
        assert f"{method}(self" in told
