"""Each outcome of a decision, and its bounds, on small streams."""

import pytest

from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from tests.scheduler_core.build import claim, mounts, node, pod, static_pod, volume
from tests.scheduler_core.shadow.stream import Stream

WANTED = {"cpu": "2", "memory": "4Gi"}


def sized(name, cpu, **more):
    """A node with 2 Gi of memory for each cpu, so that usage is balanced."""
    return node(name, cpu=str(cpu), memory=f"{2 * cpu}Gi", **more)


BIG, SMALL = sized("big", 16), sized("small", 4)


def asking(name, **more):
    return pod(name, requests=WANTED, **more)


def test_the_best_node_is_the_same():
    stream = Stream(BIG, SMALL)
    stream.put(asking("a"))
    stream.bind("a", "big")
    (judgement,) = stream.judge()
    assert (judgement.outcome, judgement.ours, judgement.node) == ("same", ["big"], "big")
    assert (judgement.pod, judgement.resource_version, judgement.configuration) == ("default/a", 102, "default")


def test_one_of_several_best_nodes_is_a_tie():
    stream = Stream(node("a"), node("b"))
    stream.put(asking("p"))
    stream.bind("p", "b")
    (judgement,) = stream.judge()
    assert (judgement.outcome, sorted(judgement.ours)) == ("tie", ["a", "b"])


@pytest.mark.parametrize("wrong", ["small", "full", "missing"])
def test_a_worse_an_infeasible_and_an_unknown_node_are_not_explained(wrong):
    stream = Stream(BIG, SMALL, sized("full", 1))
    stream.put(asking("p"))
    stream.bind("p", wrong)
    stream.put(asking("q"))
    stream.bind("q", "big")
    assert stream.outcomes() == ["unexplained", "same"]
    assert stream.judged.summary()["explained"] == 1


def test_a_change_right_before_may_not_have_happened():
    stream = Stream(BIG, SMALL)
    stream.put(asking("p"))
    stream.put(BIG | {"spec": {"unschedulable": True}}, later=0.01)
    stream.bind("p", "big")
    (judgement,) = stream.judge()
    assert judgement.outcome == "earlier"
    assert judgement.details["first"] == {"kind": "Node", "key": "big", "what": "changed", "resourceVersion": 102}


def test_a_change_longer_ago_must_have_happened():
    stream = Stream(BIG, SMALL)
    stream.put(asking("p"))
    stream.put(BIG | {"spec": {"unschedulable": True}}, later=0.01)
    stream.bind("p", "big", later=2)
    assert stream.outcomes() == ["unexplained"]


def test_more_changes_than_the_bound_must_have_happened():
    stream = Stream(BIG, SMALL)
    stream.put(asking("p"))
    stream.put(BIG | {"spec": {"unschedulable": True}}, later=0.01)
    for size in (5, 6, 7):
        stream.put(sized("small", size), later=0.01)
    stream.bind("p", "big")
    assert stream.outcomes() == ["unexplained"]


def test_pods_created_before_count_although_their_bindings_follow():
    stream = Stream(sized("a", 16), sized("b", 15))
    names = [f"p{i}" for i in range(4)]
    for name in names:
        stream.put(asking(name), later=0.01)
    # a, b, a, b in the order of creation; p3 and p2 are bound first
    for name, where in (("p3", "b"), ("p2", "a"), ("p0", "a"), ("p1", "b")):
        stream.bind(name, where, later=0.001)
    judged = stream.judge()
    assert [judgement.outcome for judgement in judged] == ["assumed", "same", "same", "same"]
    assert judged[0].details == {"counted": ["default/p2", "default/p0", "default/p1"], "not_counted": []}


def test_a_bookmark_that_arrives_late_does_not_hide_the_bindings_that_follow():
    """A kind that does not change gets a bookmark once a minute."""
    stream = Stream(sized("a", 16), sized("b", 15))
    stream.put(asking("first"))
    stream.put(asking("second"), later=0.01)
    stream.bind("second", "b")
    stream.bookmark("Node", time=stream.time + 60)
    stream.put(sized("late", 1), later=30)  # a change of another kind that arrives late
    stream.time -= 30
    stream.bind("first", "a")
    judged = stream.judge()
    assert [judgement.outcome for judgement in judged] == ["assumed", "same"]
    assert judged[0].details["counted"] == ["default/first"]


def test_a_binding_long_after_does_not_count_yet():
    stream = Stream(BIG, sized("other", 15))
    stream.put(asking("first"))
    stream.put(asking("second"), later=0.01)
    stream.bind("second", "other")
    stream.bind("first", "big", later=3)
    assert stream.outcomes()[0] == "unexplained"


def test_a_preemptor_takes_its_nominated_node():
    stream = Stream(SMALL, BIG)
    stream.put(asking("p", status={"nominatedNodeName": "small"}))
    stream.bind("p", "small")
    assert stream.outcomes() == ["same"]


def test_a_nomination_that_becomes_visible_later_reserves_resources_already():
    tight = sized("tight", 16, pods=1)
    stream = Stream(tight, SMALL)
    stream.put(asking("urgent", priority=100))
    stream.put(asking("p"), later=0.01)
    stream.bind("p", "small")
    stream.condition("urgent", "0/2 nodes are available: whatever.", later=0.01, nominatedNodeName="tight")
    decision, message = stream.judge()
    assert (decision.outcome, decision.details) == ("nominated", {"nominated": ["default/urgent"]})
    assert message.outcome == "differs"


def test_other_writers_of_the_node_are_not_the_scheduler():
    stream = Stream(SMALL, BIG)
    stream.put(static_pod("static", on="small"))
    stream.put(asking("placed", on="small"))
    stream.put(asking("other", schedulerName="mine"))
    stream.bind("other", "small")
    assert stream.outcomes() == ["not-scheduled"] * 3


def test_no_decision_within_a_gap_is_judged():
    stream = Stream(SMALL, BIG)
    stream.put(asking("p"))
    stream.put(asking("q"))
    stream.gap("Node", stream.version + 5)
    stream.version -= 3
    stream.bind("p", "small")
    stream.version += 10
    stream.bind("q", "big")
    assert stream.outcomes() == ["gap", "same"]


@pytest.mark.parametrize(("plugin", "unknown"), [("Moon", ["Moon"]), ("TargetLoadPacking", None)])
def test_a_plugin_or_a_load_that_is_not_known_here_may_decide_otherwise(plugin, unknown):
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"score": {"enabled": [{"name": plugin}]}}}],
    }
    stream = Stream(BIG, SMALL)
    for name, where in (("p", "small"), ("q", "big")):
        stream.put(asking(name))
        stream.bind(name, where)
    judged = stream.judge(configuration=config)
    assert [judgement.outcome for judgement in judged] == ["unknown-plugin", "same"]
    assert judged[0].details["plugins"] == [plugin]
    assert stream.judged.summary().get("unknown_plugins") == unknown


def test_the_claim_says_where_a_pod_goes_long_before_it_is_bound():
    wait = {
        "kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "wait"},
        "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip
    wanted = claim("data", "wait")
    stream = Stream(sized("a", 16), sized("b", 15), wait, wanted)
    stream.put(asking("p", volumes=mounts("data")))
    chosen = {**wanted["metadata"], "annotations": {"volume.kubernetes.io/selected-node": "a"}}
    stream.put(wanted | {"metadata": chosen}, later=0.01)
    # until p is bound it counts on a, so b is the best node for q
    stream.put(asking("q"))
    stream.bind("q", "b")
    stream.put(sized("b", 60))
    stream.bind("p", "a", later=60)
    first, second = stream.judge()
    assert (first.pod, first.outcome) == ("default/q", "same")
    assert (second.pod, second.outcome, second.details) == ("default/p", "same", {"decided": 102})


LOCAL = {
    "kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
}  # fmt: skip


def test_a_pod_that_waits_for_its_volume_has_taken_it():
    """Between the nomination and the binding, p counts once on its node, and its volume is no one else's."""
    disk = volume("disk", "local", at={"kubernetes.io/hostname": ["a"]})
    claims = [claim("one", "local"), claim("two", "local")]
    labels = {"kubernetes.io/hostname": "a"}
    stream = Stream(node("a", cpu="4", memory="8Gi", labels=labels), LOCAL, disk, *claims)
    stream.put(asking("p", volumes=mounts("one")))
    stream.put(asking("q", volumes=mounts("two")), later=0.01)
    none = "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind. "
    none += "no new claims to deallocate, preemption: 0/1 nodes are available: "
    none += "1 Preemption is not helpful for scheduling."
    # q is tried after p, but its message is stored before the nomination of p
    stream.condition("q", none)
    stream.put(stream.known["Pod", "default/p"] | {"status": {"nominatedNodeName": "a"}}, later=0.005)
    stream.put(asking("r", volumes=mounts("two")), later=0.005)
    stream.condition("r", none)
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "one", "uid": "uid-one"}
    stream.put(disk | {"spec": disk["spec"] | {"claimRef": reference}}, later=0.01)
    # a change that may not have happened is tried without taking the volume from p, or counting p twice
    stream.put(node("a", cpu="4", memory="8Gi", labels=labels, taints=[("x", "", "NoSchedule")]), later=0.01)
    stream.put(asking("s", volumes=mounts("two")), later=0.005)
    stream.condition("s", none)
    stream.put(node("a", cpu="4", memory="8Gi", labels=labels), later=5)
    stream.put(asking("t", volumes=mounts("two")), later=5)
    stream.condition("t", none)
    stream.bind("p", "a", later=1)
    judged = stream.judge()
    assert [(one.pod, one.outcome) for one in judged] == [
        ("default/q", "earlier"),
        ("default/r", "equal"),
        ("default/s", "earlier"),
        ("default/t", "equal"),
        ("default/p", "same"),
    ]


def test_a_decision_does_not_wait_for_the_configuration_for_ever():
    """Without decisions that differ between candidates, nothing says which one the scheduler has."""
    stream = Stream(SMALL)
    stream.put(asking("p"))
    stream.bind("p", "small")
    stream.bookmark("Pod", stream.time + 200)
    judge = Judge(get_release("1.36"))
    found = [judgement.outcome for item in stream.items for judgement in judge.feed(item)]
    assert found == ["same"]
    assert judge.settled_version == stream.version


def test_a_message_is_compared_word_by_word():
    text = "0/1 nodes are available: 1 Insufficient cpu. "
    text += (
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    stream = Stream(SMALL)
    stream.put(pod("p", requests={"cpu": "9"}))
    stream.condition("p", text)
    stream.condition("p", text.replace("1 Ins", "2 Ins"), later=5)
    stream.put(node("late", cpu="1"))
    stream.put(pod("q", requests={"cpu": "9"}), later=0.001)
    stream.condition("q", text)
    judged = stream.judge()
    assert [judgement.outcome for judgement in judged] == ["equal", "differs", "earlier"]
    assert judged[0].ours == [text] == [judged[0].message]


@pytest.mark.parametrize(("changes", "outcome"), [(5, "earlier"), (60, "earlier"), (140, "gap")])
def test_a_burst_of_changes_is_compared_with_the_states_between(changes, outcome):
    stream = Stream(*(node(f"n{number}", cpu="1") for number in range(10)))
    stream.put(pod("p", requests={"cpu": "9"}))
    none = "0/10 nodes are available: 10 Insufficient cpu. no new claims to deallocate, preemption: "
    none += "0/10 nodes are available: 10 Preemption is not helpful for scheduling."
    for number in range(changes):
        stream.put(node(f"new{number}", cpu="1"), later=0.001)
    stream.condition("p", none)
    (judgement,) = stream.judge()
    assert judgement.outcome == outcome


def test_a_gated_pod_has_no_message_of_the_scheduler():
    stream = Stream(SMALL)
    stream.put(pod("p", schedulingGates=[{"name": "wait"}]))
    raw = stream.known["Pod", "default/p"]
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "gated"}
    stream.put(raw | {"status": {"conditions": [gated]}})
    assert stream.outcomes() == []


def most_allocated(count):
    stream = Stream(node("a", cpu="8"), node("b", cpu="8"), asking("first", on="a"))
    for i in range(count):
        stream.put(pod(f"p{i}", requests={"cpu": "10m", "memory": "10Mi"}))
        stream.bind(f"p{i}", "a")
    return stream


def test_the_configuration_is_that_of_the_behaviour():
    stream = most_allocated(30)
    judged = stream.judge()
    summary = stream.judged.summary()
    assert {(judgement.outcome, judgement.configuration) for judgement in judged} == {("same", "MostAllocated")}
    likelihoods = summary["configuration"]
    assert max(likelihoods, key=likelihoods.__getitem__) == "MostAllocated" == summary["judged_by"]
    assert likelihoods["default"] < 0.001


def test_a_given_configuration_counts_until_the_behaviour_says_another():
    default = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    stream = most_allocated(60)
    judged = stream.judge(configuration=default)
    assert stream.judged.summary()["judged_by"] == "MostAllocated"
    assert {judgement.outcome for judgement in judged} <= {"other-configuration", "same"}
    few = most_allocated(2)
    assert few.outcomes(configuration=default) == ["unexplained"] * 2


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("before", [12, 60, 150])
def test_a_scheduler_that_is_configured_anew_is_noticed(before, given):
    """The evidence for the former configuration does not outweigh the new decisions, however long it lasted."""
    stream = Stream(node("a", cpu="8"), node("b", cpu="8"), asking("first", on="a"))
    for number in range(before + 20):
        stream.put(pod(f"p{number}", requests={"cpu": "100m", "memory": "100Mi"}), later=2)
        if number == before:
            changed = stream.time, stream.version + 1
        stream.bind(f"p{number}", "b" if number < before else "a")
        stream.remove("Pod", f"default/p{number}", later=1)
    default = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    judged = stream.judge(configuration=default if given else None)
    assert {one.outcome for one in judged[:before]} == {"same"}
    assert {one.outcome for one in judged[before:]} <= {"other-configuration", "same"}
    assert {one.configuration for one in judged[:before]} == {"default"}
    assert {one.configuration for one in judged[before:]} == {"MostAllocated"}
    (change,) = stream.judged.summary()["configuration_changes"]
    assert (change["before"], change["after"]) == ("default", "MostAllocated")
    assert (change["time"], change["resource_version"]) == (pytest.approx(changed[0], abs=0.01), changed[1])


def test_a_configuration_without_a_score_plugin_is_recognized():
    """The scheduler has ImageLocality disabled, so it does not prefer the node that has the image."""
    image, size = "example.com/app:v1", 900 * 2**20
    nodes = [node("with", cpu="16", images={image: size}), node("without", cpu="16")]
    stream = Stream(*nodes, asking("first", on="with"))
    for number in range(20):
        stream.put(pod(f"p{number}", requests={"cpu": "1m", "memory": "1Mi"}, image=image))
        stream.bind(f"p{number}", "without")
    judged = stream.judge()
    assert {one.configuration for one in judged} == {"default without ImageLocality"}
    assert {one.outcome for one in judged} <= {"same", "other-configuration"}
    assert judged[-1].outcome == "same"
    summary = stream.judged.summary()
    assert summary["judged_by"] == "default without ImageLocality"
    assert "configuration_changes" not in summary
    assert not any("without" in name for name in summary.get("same_choices", {}))


def test_one_odd_decision_does_not_change_the_configuration():
    stream = Stream(node("a", cpu="8"), node("b", cpu="8"), asking("first", on="a"))
    for i in range(12):
        stream.put(pod(f"p{i}", requests={"cpu": "10m", "memory": "10Mi"}))
        stream.bind(f"p{i}", "a" if i == 4 else "b")
    assert stream.outcomes() == ["same"] * 4 + ["unexplained"] + ["same"] * 7


def test_equal_pods_take_the_next_node_of_the_list():
    """Batching: the second node of the list is tried alone, also if another one became better."""
    port = {"containerPort": 80, "hostPort": 80}
    nodes = [sized("a", 32), sized("b", 16), sized("c", 8)]
    stream = Stream(*nodes)
    stream.put(pod("p", requests=WANTED, ports=(port,)))
    stream.bind("p", "a")
    stream.put(pod("q", requests=WANTED, ports=(port,)), later=0.01)
    stream.put(sized("c", 32), later=0.01)
    stream.bind("q", "b")
    assert stream.outcomes("1.36")[1] in ("batched", "earlier")
    assert stream.outcomes("1.34")[1] == "earlier"


@pytest.mark.parametrize("release", ["1.16", "1.18", "1.22", "1.27", "1.31", "1.34", "1.36"])
def test_every_release_decides(release):
    stream = Stream(BIG, SMALL)
    stream.put(asking("p"))
    stream.bind("p", "big")
    stream.put(pod("q", requests={"cpu": "99"}))
    stream.condition("q", "0/2 nodes are available: 2 Insufficient cpu.")
    decision, message = stream.judge(release)
    assert decision.outcome == "same"
    assert message.ours[0].startswith("0/2 nodes are available: 2 Insufficient cpu")
