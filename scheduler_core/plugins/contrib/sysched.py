"""SySched: puts pods with the same system calls on the same nodes.

Source: sigs.k8s.io/scheduler-plugins, pkg/sysched.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from scheduler_core.api.objects import INT64_MAX, Pod, SecurityContext
from scheduler_core.api.plugin_args import PluginArgs
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, total

ANNOTATION = "seccomp.security.alpha.kubernetes.io"
COUNTED_ACTIONS = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")
NONE: frozenset[str] = frozenset()

Calls = frozenset[str]


class SySchedArgs(PluginArgs, frozen=True, kw_only=True):
    """The SeccompProfile with the calls of pods that name none."""

    default_profile_namespace: str = "default"
    default_profile_name: str = "all-syscalls"


def named_by(path: str) -> str:
    """Return the key of the SeccompProfile that a path names by its last two parts; "" if it names none."""
    parts = path.split("/")
    if len(parts) < 2:
        return ""
    name, dot, _ = parts[-1].rpartition(".")
    name = name if dot else parts[-1]
    return f"{parts[-2]}/{name}" if parts[-2] and name else ""


class SySched(fwk.HighestNormalized):
    name = "SySched"
    args_class = SySchedArgs
    in_tree = False
    reverse = True
    memory = ("_pods",)
    best = "the one whose pods need the most similar system calls"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self._default = f"{args.default_profile_namespace}/{args.default_profile_name}"
        self._pods: dict[str, list[PodInfo]] = {}  # node -> pods that were running when they were seen
        for pod in cluster.pods.values():
            self._note(pod, True)
        cluster.watch_pods(self._note)

    def _note(self, pod: PodInfo, placed: bool) -> None:
        """Add a pod that runs already, or remove one. Upstream tells the pods of a node apart by name alone."""
        known = self._pods.get(pod.node, [])
        if placed and pod.pod.spec.node_name and pod.pod.status.phase == "Running":
            known = self._pods.setdefault(pod.node, known)
            if all(other.name != pod.name for other in known):
                known.append(pod)
        elif not placed and (pod.pod.spec.node_name or pod.start_time > 0):
            found = next((other for other in known if other.name == pod.name), None)
            if found is not None:
                known.remove(found)

    def recall_pods(self, placed: Iterable[PodInfo], evicted: Iterable[tuple[PodInfo, bool]]) -> None:
        """Remove what evicted pods had in common with others of their name."""
        for pod, _ in evicted:
            self._note(pod, False)

    def _profile(self, key: str) -> Calls | None:
        """Return the calls that a SeccompProfile allows; None if it does not exist."""
        found = self.cluster.seccomp_profiles.get(key)
        if found is None:
            return None
        counted = (one.names for one in found.spec.syscalls if one.action in COUNTED_ACTIONS)
        return frozenset().union(*counted)

    def calls_of(self, pod: Pod) -> Calls:
        """Return the system calls of a pod, by the profiles that it names, or by the default profile."""
        calls = NONE
        contexts = [pod.spec.security_context, *(one.security_context for one in pod.spec.containers)]
        for context in contexts:
            calls |= self._profile(_local_profile(context)) or NONE
        for key, path in pod.metadata.annotations.items():
            if ANNOTATION in key:
                profile = named_by(path)
                found = self._profile(profile) if profile else NONE
                if found is not None:
                    calls |= found
                    break
        return calls or self._profile(self._default) or NONE

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return how many calls of others the pod and the pods of the node do not need; the highest number for a pod
        without any call."""
        own = self.calls_of(pod.pod)
        scores = np.zeros(len(self.cluster.nodes), np.int64)
        if not own:
            scores[:] = INT64_MAX
        for name, pods in self._pods.items() if own else ():
            if (row := self.cluster.nodes.rows.get(name)) is not None:
                scores[row] = sum(self._parts(own, pods))
        return scores[rows]

    def _parts(self, own: Calls, pods: list[PodInfo]) -> list[int]:
        """Return the number of calls that the new pod does not need, and that each of the node's pods does not."""
        calls = [self.calls_of(pod.pod) for pod in pods]
        host = frozenset().union(*calls)
        return [len(host - own), *(len((host | own) - one) for one in calls)]

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        if len(scores) and int(scores.max()) == INT64_MAX:  # 100 x it overflows to a number that counts as 0
            return np.full_like(scores, fwk.MAX_NODE_SCORE)
        return super().normalize(state, pod, scores, rows)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        own, pods = self.calls_of(view.pod.pod), self._pods.get(view.node.name, [])
        if not own:
            return constant(INT64_MAX, "no system call is known").with_text("The pod names no profile with calls")
        first, *others = self._parts(own, pods)
        terms = [(n, partial(_explain_calls, view, p, n)) for n, p in zip(others, pods, strict=True)]
        new = constant(first, "calls of the node's pods that the pod does not need")
        tree = total([new, view.long_sum(terms, "pods", "calls that the node's pods do not need")])
        return tree.with_text(f"{tree.value} = system calls on {view.node.name} that single pods do not need")


def _explain_calls(view: View, pod: PodInfo, number: int) -> Tree:
    leaf = view.holds(pod, "metadata", "name", label=f"calls that {pod.key} does not need")
    leaf.value = number
    return leaf


def _local_profile(context: SecurityContext | None) -> str:
    profile = context.seccomp_profile if context is not None else None
    return named_by(profile.localhost_profile) if profile is not None and profile.type == "Localhost" else ""
