"""The node of each pod at a timepoint of a run, and the requests of the pods there."""

from collections import Counter

import msgspec
from django.db.models import Q

from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.models import Cycle, PodResult, Run
from kubesched_ui.presenters import pod_timeline
from kubesched_ui.runs import build_simulation
from kubesched_ui.scenarios import cluster_overview
from kubesched_ui.scenarios.cluster_overview import ClusterView


def evicted(run: Run) -> set[str]:
    """Return the pods that preemption removed."""
    preemptors = PodResult.objects.filter(run=run).filter(Q(attempts__gt=1) | ~Q(nominated_node=""))
    victims: set[str] = set()
    for row in preemptors.only("namespace", "name"):
        cycles = Cycle.objects.filter(run=run, namespace=row.namespace, name=row.name)
        counted = set(cycles.values_list("attempt", flat=True))
        for _, text in read_blocks(run.pk, 0, f"{row.namespace}/{row.name}"):
            events = msgspec.json.decode(text)
            for event in events:
                if event["type"] == "postfilter" and event["attempt"] in counted:
                    victims.update(event["data"]["victims"])
    return victims


def occupants(run: Run, view: ClusterView) -> tuple[dict[str, str], dict[str, str]]:
    """Return pod -> node at the start of the run, and at its current end.

    Pods that the run schedules again start without a node.
    """
    again = set(run.unbind) | set(run.pods or [])
    start = {key: pod.node for key, pod in view.pods.items() if pod.state == "bound" and key not in again}
    if run.in_time:
        return start, pod_timeline.occupants(run, start)
    gone = evicted(run)
    now = {key: node for key, node in start.items() if key not in gone}
    placed = PodResult.objects.filter(run=run, result=PodResult.Result.SCHEDULED).values_list(
        "namespace", "name", "node"
    )
    nodes = {f"{namespace}/{name}": node for namespace, name, node in placed}
    cycles = Cycle.objects.filter(run=run, result="scheduled")
    for namespace, name in cycles.values_list("namespace", "name"):
        key = f"{namespace}/{name}"
        if key in nodes and key not in gone:
            now[key] = nodes[key]
    return start, now


def requests_of(run: Run, view: ClusterView) -> dict[str, dict[str, int]]:
    """Return the requests of each pod of the run, including pods that the run adds."""
    found = {key: pod.requests for key, pod in view.pods.items()}
    added = cluster_overview.cluster_view(build_simulation.added_pods(run))
    return found | {key: pod.requests for key, pod in added.pods.items()}


def usage(view: ClusterView, places: dict[str, str], requests: dict[str, dict[str, int]]) -> dict[str, Counter[str]]:
    """Return node -> total requests of the pods on it."""
    used: dict[str, Counter[str]] = {name: Counter() for name in view.nodes}
    for pod, node in places.items():
        if node in used:
            used[node].update(requests.get(pod, {"pods": 1}))
    return used
