"""The questions by name, in the order of their cards, and the documents that ask them.

docs/experiment.schema.json is the JSON schema of documents, generated from these questions.
"""

from typing import Any, Literal, cast

import msgspec

from scheduler_core.cluster.formatting import listing
from scheduler_core.config.document import load_document
from scheduler_core.errors import refuse
from scheduler_core.experiments.buy import Buy
from scheduler_core.experiments.capacity import Capacity
from scheduler_core.experiments.compare import Compare
from scheduler_core.experiments.document import Experiment, ExperimentSpec, check_grid
from scheduler_core.experiments.loss import Loss
from scheduler_core.experiments.moves import Moves
from scheduler_core.experiments.noise import Noise
from scheduler_core.experiments.packing import PackingQuestion
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.tune import Tune

MAX_BYTES = 2_000_000  # of a document

_CLASSES = (Compare, Noise, Capacity, Loss, Moves, Buy, Tune, PackingQuestion)
QUESTIONS: dict[str, ExperimentQuestion] = {one.name: one() for one in _CLASSES}

_SECTIONS = {one.name: one.section for one in _CLASSES if one.section}
_SPEC = msgspec.defstruct(
    "ExperimentSpec",
    [
        ("question", Literal[tuple(QUESTIONS)], "compare"),
        *((name, section | None, None) for name, section in _SECTIONS.items()),
    ],
    bases=(ExperimentSpec,),
    namespace={"__doc__": ExperimentSpec.__doc__},
    kw_only=True,
)
ExperimentDocument = cast(
    "type[Experiment]",
    msgspec.defstruct(
        "Experiment", [("spec", _SPEC)], bases=(Experiment,), namespace={"__doc__": Experiment.__doc__}, kw_only=True
    ),
)
"""An Experiment whose spec has the sections of all questions."""


def load_experiment(source: str | bytes, where: str = "experiment") -> Experiment:
    """Load an experiment from JSON or YAML and check it. Nothing is computed, and no scenario is read.

    Raises InputError whose field begins with the line: `line 12: spec.configurations[1].config`.
    """
    return load_document(source, where, ExperimentDocument, MAX_BYTES, lambda experiment: _check(experiment.spec))


def experiment_schema() -> dict[str, Any]:
    """Return the JSON schema of experiment documents."""
    schema = msgspec.json.schema(ExperimentDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "KubeSched experiment", **schema}


def _check(spec: ExperimentSpec) -> None:
    check_grid(spec)
    question, timed = QUESTIONS[spec.question], [one.name for one in _CLASSES if one.in_virtual_time]
    wrong = spec.virtual_time and not question.in_virtual_time
    refuse(wrong, "spec.virtualTime", f"is only for {listing(timed)}, got {spec.question}")
    for name in _SECTIONS:
        section, path = getattr(spec, name), f"spec.{name}"
        if section is None:
            needed = name == spec.question and bool(question.required)
            refuse(needed, path, f"is missing; {question.required}")
            continue
        refuse(name != spec.question, path, f"is only for the question {name}, got {spec.question}")
        section.check(path)
    question.check(spec)
