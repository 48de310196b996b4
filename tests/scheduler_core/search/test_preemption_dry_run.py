"""Repeated dry runs agree with the recording, and each step with the reference."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.search.preemption_dry_run import REMOVE, REPRIEVE, PreemptionDryRuns
from scheduler_core.search.provenance import NotDecided
from tests.conformance import golden_cases
from tests.examples import selection
from tests.scheduler_core.provenance.cases import cycles_of
from tests.scheduler_core.recording.core_states import params

SETS = ("v1.34", "v1.27", "plugins/CapacityScheduling", "plugins/PreemptionToleration")


PREEMPTING = [param for param in params(*SETS) if param.values[0].get("preempt")]


@pytest.mark.parametrize("case", selection(PREEMPTING, 2))
def test_dry_runs_agree_with_the_recording(case: dict[str, Any]) -> None:
    for provenance, trace, _ in cycles_of(case):
        found = trace.postfilter
        if found is None:
            continue
        trials = PreemptionDryRuns(provenance.framework, provenance.pod, trace)
        tried = trials.nodes()
        assert {node.node for node in tried if node.candidate} == found.candidates.keys()
        assert len(tried) == len(found.candidates) + sum(len(rows) for _, rows in found.rejected)
        for node in tried:
            trial = trials.dry_run(node.node)
            assert trial.agrees is True, f"{trace.pod} on {node.node}: {trial}"
            if node.candidate:
                check_steps(trial)
            else:
                assert not trial.victims
                assert not trial.steps or not trial.steps[-1].fits


def check_steps(trial: Any) -> None:
    """Each victim is removed and returns once, those with violated budgets first, unless it blocks the preemptor."""
    first, *back = trial.steps
    assert first.do == REMOVE
    assert first.fits
    assert all(step.do == REPRIEVE for step in back)
    assert sorted(first.pods) == sorted(pod for step in back for pod in step.pods)
    assert [step.violates for step in back] == sorted((step.violates for step in back), reverse=True)
    assert {step.pods[0] for step in back if not step.fits} == set(trial.victims)
    assert sum(step.violates and not step.fits for step in back) == trial.violations
    assert all(step.plugin and step.reasons for step in back if not step.fits)
    for group in (True, False):
        priorities = [step.priority for step in back if step.violates is group]
        assert priorities == sorted(priorities, reverse=True)


def test_impossible_dry_runs_are_refused() -> None:
    case = next(case for case in golden_cases("v1.34", "preemption"))
    for provenance, trace, _ in cycles_of(case):
        if trace.postfilter is None:
            with pytest.raises(NotDecided, match="did not run"):
                PreemptionDryRuns(provenance.framework, provenance.pod, trace)
            continue
        trials = PreemptionDryRuns(provenance.framework, provenance.pod, trace)
        with pytest.raises(NotDecided, match="no node 'nowhere'"):
            trials.as_dict("nowhere")
        with pytest.raises(InputError, match="page"):
            trials.as_dict(page=2)
