"""Runs of many kinds, to export and import."""

import json
from typing import Any

from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod
from tests.kubesched_ui.http_api import forked, ran

OWN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}}
"""
GANG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {reserve: {enabled: [{name: Coscheduling}]}, permit: {enabled: [{name: Coscheduling}]}}
"""
CORDON, PLACE = {"cordon": "n1"}, {"place": {"pod": "default/p3", "node": "n2"}}


def small(client: Client, **settings: Any) -> Run:
    pods = [pod(f"p{i}", cpu="1") for i in range(6)]
    return ran(client, as_list(node("n1", cpu="2"), node("n2", cpu="3"), node("n3", cpu="2"), *pods), **settings)


def forked_twice(client: Client) -> Run:
    first = forked(client, small(client), at=4, changes=[{"create": node("n9", cpu="8")}, {"create": pod("late")}])
    return forked(client, first, at=2, changes=[CORDON, PLACE], settings={"seed": 9, "config": OWN}, name="both")


def forked_twice_later(client: Client) -> Run:
    first = forked(client, small(client), at=3, changes=[CORDON], settings={"release": "1.27"})
    return forked(client, first, at=6, changes=[{"uncordon": "n1"}, {"create": pod("z")}])


def forked_at_the_end(client: Client) -> Run:
    gone = {"kind": "Pod", "namespace": "default", "name": "p0"}
    return forked(client, small(client), at=7, changes=[{"delete": gone}])


def preempting(client: Client) -> Run:
    run = ran(client, every_outcome(), seed=5)
    assert run.pod_results.exclude(nominated_node="").exists()
    return run


def virtual_time(client: Client) -> Run:
    return ran(client, next(FOLDER.glob("13-*.yaml")).read_bytes(), until=60)


def virtual_time_forked(client: Client) -> Run:
    run = virtual_time(client)
    first = forked(client, run, t=20.5, changes=[{"cordon": (run.node_names or [])[0]}], settings={"until": 90})
    return forked(client, first, at=2, settings={"tie_break": "name"})


def selected_pods(client: Client) -> Run:
    cluster = as_list(node("n1"), node("n2"), pod("a"), pod("b"), pod("c", on="n1"), pod("d", on="n2"))
    return ran(client, cluster, pods=["default/b"], unbind=["default/c"], template=json.dumps(pod("copy")), copies=2)


def configured(client: Client) -> Run:
    return small(client, config=OWN, tie_break="name", percentage=50, preemption=False, release="1.27")


def other_configuration(client: Client) -> Run:
    """The run does not use the cluster's configuration, and its own has an unknown plugin."""
    unknown = OWN.replace("ImageLocality", "OurOwnPlugin")
    path = next(FOLDER.glob("09-*.yaml"))
    run = ran(client, path.read_bytes(), config=unknown, unknown_plugins="leave_out", in_time=True, until=30)
    assert run.notes
    return run


def of_workloads(client: Client) -> Run:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    }
    return ran(client, as_list(node("n1"), deployment))


def gang_timeout(client: Client) -> Run:
    """Fork a run after a gang timed out at Permit. The next pod must not find it still waiting."""
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "spec": {"minMember": 3}}
    group["metadata"] = {"name": "g", "namespace": "default"}
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    some = [pod(f"g{i}") for i in range(3)]
    for one in some:
        one["metadata"]["labels"] = labels
    run = ran(client, as_list(node("n1"), group, *some[:2], pod("alone")), config=GANG)
    assert run.placed == 1
    return forked(client, run, at=run.cycles_done + 1, changes=[{"create": some[2]}])


RUNS = (
    preempting, gang_timeout, forked_twice, forked_twice_later, forked_at_the_end, virtual_time, virtual_time_forked,
    selected_pods, configured, other_configuration, of_workloads,
)  # fmt: skip
# Between them they have what the others have: `make test` exports and imports these.
VARIED = gang_timeout, forked_twice_later, virtual_time_forked, selected_pods, other_configuration, of_workloads
