"""The messages of the pods of a group: those of the group's cycle, which tries its members together.

Nothing of the cluster changes: no member stays assumed, no pod is evicted, and nominations are restored.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import SUCCESS
from scheduler_core.framework.runtime import Framework
from scheduler_core.pod_groups.group_cycle import GroupScheduler
from scheduler_core.pod_groups.trace import GroupTrace

MOST_MEMBERS = 500  # that are tried together
MOST_ORDERS = 8  # in which the members of a group are tried


def group_cycles(
    scheduler: Scheduler, framework: Framework, group: PodGroup, members: Sequence[PodInfo]
) -> Iterator[dict[str, CycleTrace]]:
    """Yield possible cycles of a group: pod -> its cycle with its message, "" if the group can be placed.

    The queue's order is not visible, so other members are taken as the first one after the one that was created first.
    `members`: the pending pods of the group that PreEnqueue lets pass; MOST_MEMBERS at most are tried.
    """
    created = sorted(members, key=lambda one: (-one.priority, one.pod.metadata.creation_timestamp, one.key))
    for first in created[: max(1, min(MOST_ORDERS, MOST_MEMBERS // len(members)))]:
        # upstream tries the pod that the queue popped, and then the others of its priority by name
        ordered = sorted(members, key=lambda one: (-one.priority, one is not first, one.key))[:MOST_MEMBERS]
        with _unchanged(scheduler.cluster, scheduler):
            trial, trace = GroupScheduler(scheduler, framework, group), GroupTrace(group.key, first.key, group.spec)
            tried = trial.try_group(ordered, trace)
            for one in tried:
                if trace.status.code != SUCCESS or not one.member.fits:
                    trial.record(one, trace)
        yield {one.pod.key: one.member.trace for one in tried}


@contextmanager
def _unchanged(cluster: Cluster, scheduler: Scheduler) -> Iterator[None]:
    """A context after which nominations and the counters of the scheduler are as before."""
    nominator = cluster.nominator
    before = [(pod, node) for node in nominator.nodes() for pod in nominator.on(node)]
    counters = scheduler.cycles, scheduler.attempts, scheduler.next_start_index
    journal = cluster.journal.take()
    try:
        with cluster.nodes.keep_image_counts():
            yield
    finally:
        for pod in [pod for node in nominator.nodes() for pod in nominator.on(node)]:
            nominator.forget(pod)
        for pod, node in before:
            pod.nominated_node = node
            nominator.nominate(pod, node)
        scheduler.cycles, scheduler.attempts, scheduler.next_start_index = counters
        cluster.journal.take()
        cluster.journal.put(journal)
