"""The JSON documents that commands print for scripts, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dse.evaluate.criteria import Objective
from dse.evaluate.graph_summary import list_variable_effects
from dse.explain.certification import Verdict
from dse.explain.explanation import Explanation
from dse.model.values import json_value
from dse.result.compare import Difference, Side
from dse.result.progress import Status
from dse.result.record import Certificate, Column, Cut, Result, TargetAnswer
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue


@dataclass(frozen=True)
class RunDocument:
    """The result of ``dse run``: the content of ``summary.json`` in the run folder."""

    format: int
    name: str
    about: str
    certificate: Certificate
    objectives: tuple[Objective, ...]
    best: dict[str, dict[str, Any]]
    target: TargetAnswer | None
    nash: int | None
    columns: tuple[Column, ...]
    constants: dict[str, dict[str, Any]]
    cuts: tuple[Cut, ...]
    notes: tuple[str, ...]
    provenance: dict[str, Any]
    convergence: dict[str, list[float]]
    kept: int
    sha256: dict[str, str]
    outside: dict[str, dict[str, Any]]
    answer: dict[str, Any]


@dataclass(frozen=True)
class VariableDocument:
    """A variable of a study; ``values`` is None if it is continuous, or a table's with many."""

    name: str
    values: int | None
    affects: tuple[str, ...]


@dataclass(frozen=True)
class CheckDocument:
    """The plan of ``dse check``; ``designs`` is None if the space is continuous."""

    name: str
    designs: int | None
    method: str
    evaluations: int
    reason: str
    variables: tuple[VariableDocument, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[str, ...]
    requirements: tuple[str, ...]
    unchecked: tuple[str, ...]
    target: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class DesignDocument(Explanation):
    """A design of ``dse explain``; the recommended one has switch points and limits."""

    feasible: bool = True
    fields: list[tuple[str, str]] = field(default_factory=list)
    switch_points: dict[str, Any] | None = None
    study_limits: dict[str, Any] | None = None


@dataclass(frozen=True)
class ExplainDocument:
    """The designs of ``dse explain``."""

    name: str
    designs: tuple[DesignDocument, ...]


@dataclass(frozen=True, kw_only=True)
class CertifyDocument(Verdict):
    """The verdict of ``dse certify`` on a certificate."""

    refuted: bool = False
    certificate: Certificate


@dataclass(frozen=True)
class CompareDocument:
    """Two runs of ``dse compare``."""

    equal: bool
    runs: tuple[Side, Side]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class EntryDocument:
    """An entry of a catalog."""

    entry: str
    about: str
    note: str
    facts: dict[str, str]
    values: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ListDocument:
    """A catalog of ``dse list``."""

    catalog: str
    about: str
    entries: tuple[EntryDocument, ...]


DOCUMENTS = {
    "run": RunDocument,
    "check": CheckDocument,
    "explain": ExplainDocument,
    "certify": CertifyDocument,
    "compare": CompareDocument,
    "status": Status,
    "list": ListDocument,
}
"""The document of each command that takes ``--json``."""


def check_data(study: ResolvedStudy, notes: Sequence[str]) -> dict[str, Any]:
    """Return the plan of a run as plain values, for JSON."""
    evaluator, plan = study.evaluator, study.plan
    reaches = list_variable_effects(evaluator)
    required = [c for c in evaluator.constraints if c.required_by]
    document = CheckDocument(
        study.name,
        evaluator.space.size,
        plan.method,
        plan.evaluations,
        plan.reason,
        tuple(
            VariableDocument(
                name,
                variable.count or None,
                (*reaches[name].objectives, *reaches[name].constraints) if name in reaches else (),
            )
            for name, variable in evaluator.space.variables.items()
        ),
        tuple(evaluator.objectives),
        tuple(c.name for c in evaluator.constraints if not c.required_by),
        tuple(c.name for c in required),
        tuple(study.unchecked),
        study.target.reach if study.target is not None else "",
        study.warnings,
        (*study.notes, *notes),
    )
    data: dict[str, Any] = json_value(asdict(document))
    return data


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values, for JSON; infinities as texts."""
    data: dict[str, Any] = json_value(asdict(explanation))
    return data | {"feasible": explanation.feasible, "fields": json_value(explanation.fields)}


def explain_data(
    result: Result, explanations: Sequence[Explanation], changes: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the explanations of designs as plain values, for JSON."""
    designs = [explanation_data(e) | json_value(changes.get(e.design, {})) for e in explanations]
    return {"name": result.name, "designs": designs}


def certify_data(result: Result, verdict: Verdict) -> dict[str, Any]:
    """Return the verdict on a certificate as plain values, for JSON."""
    more = {"refuted": verdict.refuted, "certificate": asdict(result.certificate)}
    data: dict[str, Any] = json_value(asdict(verdict) | more)
    return data


def output_schema() -> JsonSchemaValue:
    """Return the JSON Schema of the documents: one definition for each command, by its name."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        """As `json_value` writes: no NaN, infinities as texts, arrays as lists of numbers."""

        def float_schema(self, schema: Any) -> JsonSchemaValue:
            return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}, {"type": "null"}]}

        def is_instance_schema(self, schema: Any) -> JsonSchemaValue:
            return {"type": "array", "items": self.float_schema(schema)}

        def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
            made = super().dataclass_schema(schema)
            return made | {"additionalProperties": False}

    config = ConfigDict(arbitrary_types_allowed=True)
    adapters: list[tuple[str, Literal["serialization"], TypeAdapter[Any]]] = [
        (name, "serialization", TypeAdapter(list[kind], config=config))  # type: ignore[valid-type]
        for name, kind in DOCUMENTS.items()
    ]
    made, rest = TypeAdapter.json_schemas(
        adapters, schema_generator=Schema, title="Documents that dse prints with --json"
    )
    commands = {name: made[name, "serialization"]["items"] for name in DOCUMENTS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": rest["title"],
        "properties": commands,
        "$defs": rest["$defs"],
    }
