"""Which configuration a run has, and what is said of the one that came with the upload."""

from __future__ import annotations

import pytest

from kubesched_ui.models import Scenario
from kubesched_ui.runs.config_resolution import CAME_WITH_IT, chosen
from scheduler_core.errors import InputError

GOOD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 4\n"
OTHER = GOOD.replace("4", "5")
OLD = GOOD.replace("/v1", "/v1alpha2")


@pytest.mark.parametrize(
    ("own", "given", "config", "said"),
    [
        ("", None, "", None),
        (GOOD, None, GOOD, None),
        (GOOD, GOOD, GOOD, None),
        (GOOD, OTHER, OTHER, "the run has its own configuration"),
        (GOOD, "", "", "the run uses the default configuration of its release"),
        (OLD, None, "", "v1alpha2 is read by kube-scheduler 1.18 only"),
        (OLD, "", "", "v1alpha2 is read by kube-scheduler 1.18 only"),  # the page's button to start without it
        (OLD, OTHER, OTHER, "the run has its own configuration"),
    ],
)
def test_chosen(own: str, given: str | None, config: str, said: str | None) -> None:
    found, notes = chosen(Scenario(config=own), given, "1.34", "error")
    assert found == config
    if said is None:
        assert notes == []
    else:
        (note,) = notes
        assert note.startswith(CAME_WITH_IT)
        assert said in note


def test_only_what_was_given_is_refused() -> None:
    with pytest.raises(InputError, match="v1alpha2"):
        chosen(Scenario(config=GOOD), OLD, "1.34", "error")
