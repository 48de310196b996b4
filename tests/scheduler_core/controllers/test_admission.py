"""Priority admission and default tolerations.

Cases from https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/ and
plugin/pkg/admission/priority (admission_test.go), plugin/pkg/admission/defaulttolerationseconds.
"""

import pytest

from scheduler_core.api.objects import Metadata, Pod, PodSpec, PriorityClass, Toleration
from scheduler_core.controllers.admission import Admission
from scheduler_core.errors import InputError
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def priority_class(name: str, value: int, default: bool = False, policy: str = "") -> PriorityClass:
    return PriorityClass(metadata=Metadata(name), value=value, global_default=default, preemption_policy=policy)


NODE_CRITICAL, CLUSTER_CRITICAL = "system-node-critical", "system-cluster-critical"
HIGH, LOW = priority_class("high", 1000), priority_class("low", 10, default=True, policy="Never")


def admission(*classes: PriorityClass) -> Admission:
    return Admission({one.name: one for one in classes})


def a_pod(**spec: object) -> Pod:
    return Pod(metadata=Metadata("web", "default"), spec=PodSpec(**spec))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        ((), {}, (0, "PreemptLowerPriority", "")),
        ((HIGH,), {"priority_class_name": "high"}, (1000, "PreemptLowerPriority", "high")),
        ((HIGH, LOW), {}, (10, "Never", "low")),
        ((LOW, priority_class("lower", 5, default=True)), {}, (5, "PreemptLowerPriority", "lower")),
        ((), {"priority_class_name": NODE_CRITICAL}, (2000001000, "PreemptLowerPriority", NODE_CRITICAL)),
        ((), {"priority_class_name": CLUSTER_CRITICAL}, (2000000000, "PreemptLowerPriority", CLUSTER_CRITICAL)),
        ((HIGH,), {"priority_class_name": "high", "priority": 1000}, (1000, "PreemptLowerPriority", "high")),
        ((), {"priority": 0}, (0, "PreemptLowerPriority", "")),
    ],
)
def test_priority_comes_from_the_class(
    classes: tuple[PriorityClass, ...], spec: dict[str, object], expected: tuple[int, str, str]
) -> None:
    admitted = a_pod(**spec)
    admission(*classes).admit(admitted)
    assert (admitted.spec.priority, admitted.spec.preemption_policy, admitted.spec.priority_class_name) == expected


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"priority_class_name": "absent"}, "spec.priorityClassName", "no PriorityClass with name absent was found"),
        ({"priority": 5}, "spec.priority", "computed 0 from the given PriorityClass name"),
        ({"priority_class_name": "high", "priority": 5}, "spec.priority", "computed 1000"),
        ({"preemption_policy": "Never"}, "spec.preemptionPolicy", "computed PreemptLowerPriority"),
    ],
)
def test_a_priority_that_contradicts_the_class_is_rejected(spec: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        admission(HIGH).admit(a_pod(**spec))
    assert refused.value.field == field
    assert words in refused.value.problem


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({}, ""),
        ({"priority": 1000, "priority_class_name": "high"}, ""),
        ({"priority": 10}, "spec.priority"),
        ({"priority_class_name": "low"}, "spec.priorityClassName"),
        ({"preemption_policy": "Never"}, "spec.preemptionPolicy"),
    ],
)
def test_updates_keep_the_priority(spec: dict[str, object], refused: str) -> None:
    admit = admission(HIGH, LOW)
    stored = a_pod(priority_class_name="high")
    admit.admit(stored)
    update = a_pod(**spec)
    if not refused:
        admit.admit(update, stored)
        assert update.spec.priority == 1000
        return
    with pytest.raises(InputError) as error:
        admit.admit(update, stored)
    assert error.value.field == refused


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        (priority_class("mine", 1_000_000_000), None, False),
        (priority_class("mine", 1_000_000_001), None, True),
        (priority_class("system-mine", 5), None, True),
        (priority_class("system-node-critical", 2000001000), None, False),
        (priority_class("system-node-critical", 5), None, True),
        (priority_class("other", 5, default=True), None, True),  # low is the default already
        (priority_class("low", 10, default=True, policy="Never"), LOW, False),
        (priority_class("high", 1001), HIGH, True),
        (priority_class("high", 1000, policy="Never"), HIGH, True),
        (priority_class("high", 1000, policy="PreemptLowerPriority"), HIGH, False),
    ],
)
def test_classes(new: PriorityClass, old: PriorityClass | None, refused: bool) -> None:
    admit = admission(HIGH, LOW)
    if refused:
        with pytest.raises(InputError):
            admit.check_class(new, old)
    else:
        admit.check_class(new, old)


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 5)], ["unreachable"]),
        ([Toleration("", "Exists")], []),
        ([Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoSchedule")], ["not-ready", "unreachable"]),
    ],
)
def test_default_tolerations(own: list[Toleration], added: list[str]) -> None:
    admitted = a_pod(tolerations=own)
    admission().admit(admitted)
    new = admitted.spec.tolerations[len(own) :]
    assert [t.key.rpartition("/")[2] for t in new] == added
    assert all((t.effect, t.toleration_seconds) == ("NoExecute", 300) for t in new)


def test_a_rejected_pod_gives_a_warning_and_is_not_created() -> None:
    played = PlayedScenario(node("n1"), timeline=[{"at": 1, "create": pod("web", priority=7)}])
    assert "computed 0" in played.records_of("warning")[0].data["message"]
    assert not played.records_of("pod.created")
