"""A Policy is read as by old releases, and errors are named."""

from typing import Any

import pytest

from scheduler_core.config.policy import check_name, check_one_argument, check_shape, read_policy
from scheduler_core.errors import InputError

RATIO = {"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 10}], "resources": []}}


def read(unknown_fields: bool = True, grouped: bool = False, **given: Any) -> Any:
    raw = {"kind": "Policy", "apiVersion": "v1", **given}
    return read_policy(raw, unknown_fields=unknown_fields, grouped=grouped)


def test_missing_values_are_left_to_the_defaults() -> None:
    policy = read()
    assert policy.predicates is None
    assert policy.priorities is None
    assert policy.hard_pod_affinity_weight == 1
    assert read(predicates=[], priorities=[]).predicates == ()


def test_arguments_and_extenders() -> None:
    policy = read(
        predicates=[{"name": "Zone", "argument": {"serviceAffinity": {"labels": ["zone"]}}}],
        priorities=[{"name": "Ratio", "weight": 3, "argument": RATIO}],
        extenders=[{"urlPrefix": "http://e", "enableHttps": True, "httpTimeout": 2_000_000_000}],
        hardPodAffinitySymmetricWeight=33,
        alwaysCheckAllPredicates=True,
    )
    assert policy.predicates[0].argument.service_affinity.labels == ("zone",)
    assert policy.priorities[0].argument.requested_to_capacity_ratio.shape[0].score == 10
    assert policy.extenders[0].enable_https
    assert policy.extenders[0].http_timeout == "2000000000ns"
    assert policy.hard_pod_affinity_weight == 33
    assert policy.always_check_all_predicates


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"apiVersion": "kubescheduler.config.k8s.io/v1"}, "Policy: apiVersion: must be v1, got"),
        ({"apiVersion": ""}, "Policy: apiVersion: must be v1, it is not given"),
        ({"priorities": [{"name": "A", "weight": 0}]}, "Policy priorities[0] 'A': weight: must be positive"),
        ({"priorities": [{"name": "A", "weight": 922337203685477580}]}, "weight: must be positive and less than"),
        ({"priorities": [{"name": "A", "weight": 9 * 10**17}] * 2}, "Policy: priorities: the weights are too large"),
        ({"hardPodAffinitySymmetricWeight": 101}, "hardPodAffinitySymmetricWeight: must be in 1..100, got 101"),
        ({"predicates": [{"name": 3}]}, "Policy: predicates[0].name: must be"),
        ({"extenders": [{"urlPrefix": 3}]}, "Policy extenders[0]: urlPrefix: must be"),
    ],
)
def test_errors_are_named(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(**given)
    assert problem in str(caught.value).replace('"', "'")


def test_unknown_fields_are_ignored_or_named() -> None:
    given = {"predicates": [{"name": "A", "argument": {"labelsPresence": {"label": []}}}]}
    assert read(**given).predicates[0].name == "A"
    with pytest.raises(InputError, match=r"predicates\[0\]\.argument\.labelsPresence\.label: unknown field"):
        read(unknown_fields=False, **given)
    assert read(grouped=True, apiVersion="kubescheduler.config.k8s.io/v1").predicates is None


def test_checks_at_runtime() -> None:
    policy = read(
        predicates=[{"name": "A", "argument": {}}], priorities=[{"name": "B", "weight": 1, "argument": RATIO}]
    )
    with pytest.raises(InputError, match="exactly one of serviceAffinity, labelsPresence, got none"):
        check_one_argument("A", policy.predicates[0].argument)
    check_one_argument("B", policy.priorities[0].argument)
    shape = policy.priorities[0].argument.requested_to_capacity_ratio.shape
    check_shape("B", shape)
    with pytest.raises(InputError, match="at least one point"):
        check_shape("B", ())
    with pytest.raises(InputError, match="more than the 0 before it"):
        check_shape("B", (*shape, *shape))
    check_name("B", "a-1")
    with pytest.raises(InputError, match="letters, digits and dashes"):
        check_name("B", "bad_name")
