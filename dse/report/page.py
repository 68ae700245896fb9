"""The page: a template, its style and its script, filled with the data of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dse.evaluate.graph_summary import ModelStep
from dse.explain.explanation import Explanation, Slice
from dse.explain.recommendation import Answer
from dse.model.section import Section
from dse.model.values import plural, show_value
from dse.report.overview import EMPTY, explain_stop, front_status, list_key_numbers
from dse.report.page_assets import embed, embed_policy, load_template, read_own, script_json, style
from dse.report.payload import payload
from dse.result.files import write_text
from dse.result.record import Result
from dse.search.outcome import describe_ground

_SCRIPTS = (
    *("data", "colors", "filter", "selection", "plots", "dots", "parallel", "multiples", "chips"),
    *("panels", "recommend", "answer", "diagram", "design", "importance", "pins", "state", "page"),
)


def write_report(
    result: Result,
    explanations: Sequence[Explanation],
    path: Path,
    study_text: str,
    sections: Sequence[Section] = (),
    model_graph: Sequence[ModelStep] = (),
    answer: Answer | None = None,
    overview: Mapping[str, Any] = EMPTY,
    evidence: Sequence[Section] = (),
    slices: Mapping[int, Sequence[Slice]] = MappingProxyType({}),
    scripts: Sequence[str] = (),
) -> None:
    """Write the report of a result.

    The template escapes everything that comes from the study, or the script sets it as text.
    A policy in the page forbids all network access and every script but its own. The file is
    written under another name first.

    Parameters
    ----------
    explanations : sequence of Explanation
        Of some designs; for others, the page shows the command that explains them.
    sections : sequence of Section
        The sections that the study's models add.
    answer, overview
        The page begins with them; see `make_answer` and `make_overview`.
    evidence : sequence of Section
        The sections on the provenance of inputs and on uncertain ones, folded in the confidence.
    slices : mapping of int to sequence of Slice
        The slices through explained designs, by number.
    scripts : sequence of str
        Further scripts of the page, by name; they come after its own.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    script = "\n".join(read_own(f"{name}.js") for name in (*_SCRIPTS, *scripts))
    start = answer.designs[0].design if answer is not None and answer.designs else None
    content = payload(
        result, explanations, path.parent, sections, study_text, start, overview, evidence, slices
    )
    text = load_template("page.html").render(
        result=result,
        answer=answer,
        certificate=result.certificate,
        grounds=[describe_ground(ground) for ground in result.certificate.rests_on],
        files=_files(result),
        explained=_explained(result, len(explanations)),
        standing=front_status(result.certificate),
        question=_question(result),
        assumed=overview["assumed"],
        stopped=explain_stop(result.certificate),
        figures=list_key_numbers(result),
        constants=[
            (name, show_value(value, unit)) for name, (value, unit) in result.constants.items()
        ],
        provenance=flatten_mapping(result.provenance),
        study_text=study_text,
        model_graph=model_graph,
        style=style(),
        policy=embed_policy(script),
        scripts=embed(script_json(content), script),
    )
    write_text(path, text)


def _question(result: Result) -> str:
    """Return the question that the answer is for: the study's, if it asks one."""
    about = result.about.strip()
    if about.endswith("?"):
        return about
    return f"Which design should be built? {about}".strip()


def _explained(result: Result, count: int) -> str:
    """Return how many designs the page explains in full."""
    kept = len(result.designs)
    if count == kept:
        return ""
    return (
        f"This report explains {count:,} of {plural(kept, 'design')} in full; dse explain does any."
    )


def _files(result: Result) -> str:
    """Return what the tables of the run folder hold."""
    kept, on_front = len(result.designs), int(result.designs["on_front"].sum())
    front = f"front.csv holds all of the front, {plural(on_front, 'design')}"
    if kept == result.certificate.evaluated:
        return (
            f"In the run folder {front}; designs.csv has one line per distinct point of all "
            "evaluated designs, with the number of its ties."
        )
    return (
        f"In the run folder {front}; designs.csv is a sample, {kept:,} of the "
        f"{plural(result.certificate.evaluated, 'design')} that were evaluated, with the front; "
        "it has one line per distinct point."
    )


def flatten_mapping(content: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return the provenance, a mapping of mappings and lists, as lines of name and text.

    >>> flatten_mapping({"seed": 1, "versions": {"numpy": "2.4"}, "code": ["a.py", "b.py"]})
    [('seed', '1'), ('versions numpy', '2.4'), ('code', 'a.py, b.py')]
    >>> flatten_mapping({"loaded_code": {"my_model.py": "8eb3"}})
    [('loaded code my_model.py', '8eb3')]
    """
    lines: list[tuple[str, str]] = []
    for key, value in content.items():
        name = prefix + (key if "." in key else key.replace("_", " "))  # files keep their names
        if isinstance(value, Mapping):
            lines += flatten_mapping(value, f"{name} ")
        elif isinstance(value, list | tuple):
            lines.append((name, ", ".join(str(item) for item in value)))
        else:
            lines.append((name, f"{value:.6g}" if isinstance(value, float) else str(value)))
    return lines
