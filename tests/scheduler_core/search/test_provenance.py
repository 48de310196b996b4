"""Provenance from a recording equals provenance from the run itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.search.provenance import Question, provenance_of
from tests.conformance import golden_cases
from tests.scheduler_core.provenance.cases import cycles_of, questions
from tests.scheduler_core.recording.core_states import first_params, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import maker, played

KINDS = ("volumes", "preemption", "podaffinity", "defaultspread", "ports", "sampling", "fitconfig")


@pytest.mark.parametrize("case", first_params("v1.34", "v1.27", kinds=KINDS))
def test_the_restored_cluster_gives_the_same_tree(case: dict[str, Any]) -> None:
    simulation = simulation_of_case(case)
    kept = played(simulation)
    make = maker(simulation, percentage=case.get("percentage"))
    run = kept.recording, kept.fetch, make, simulation.release
    for number, (live, trace, names) in enumerate(cycles_of(case), 1):
        if number % 3:
            continue
        rewound = provenance_of(*run, trace.number, trace)
        for question, _ in list(questions(trace, names))[::5]:
            from_recording = msgspec.to_builtins(rewound.explain(question))
            assert from_recording == msgspec.to_builtins(live.explain(question)), f"{trace.pod} {question}"


def test_undecided_questions_are_refused_by_name() -> None:
    case = next(case for case in golden_cases("v1.34") if case["name"].startswith("resour"))
    provenance, trace, names = next(one for one in cycles_of(case) if one[1].scores)
    row = int(trace.feasible_rows()[0])
    wrong = {
        Question("raw", "nowhere", "NodeResourcesFit"): "there was no node 'nowhere'",
        Question("raw", names[row], "Nobody"): "'Nobody' is not at score",
        Question("filter", names[row], "NodePorts"): "NodePorts had nothing to filter",
        Question("preemption", names[row], "DefaultPreemption"): "no PostFilter plugin ran",
    }
    for question, words in wrong.items():
        with pytest.raises(InputError, match=words):
            provenance.explain(question)
    for point, page in (("colour", 1), ("raw", 0)):
        with pytest.raises(InputError):
            Question(point, "n", "NodeResourcesFit", page)


def test_nominated_pods_are_mentioned() -> None:
    """The verdict does not count them, as recorded. If they change it, the sentence says so."""
    for case in golden_cases("v1.34", "preemption"):
        for provenance, trace, names in cycles_of(case):
            for row, status in trace.nominated.items():
                if status is not None and trace.verdicts[status.plugin].at(row) is None:
                    tree = provenance.explain(Question("filter", names[row], status.plugin))
                    assert tree.value is False
                    assert f"it refuses: {status.message}" in tree.text
                    return
    pytest.fail("no case has one")
