"""Edits of a pod template, and patches of it.

Source: the patchMergeKey tags of k8s.io/api/core/v1/types.go; a list without one is replaced as a whole.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.forks.mutations import Change
from scheduler_core.virtual_time.scenario import Patch

Raw = dict[str, Any]
Edit = Callable[[Raw], object]
MERGE_KEYS = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "resourceClaims", "schedulingGates"), "name"),
    "ports": "containerPort",
    "topologySpreadConstraints": "topologyKey",
}
"""List -> the field by which a strategic merge patch finds its items."""
_ADDED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_ADDED_TO_DAEMONS = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable", "network-unavailable")


@dataclass(frozen=True)
class TemplateEdit:
    """An edit of a workload's pods. `kind`: of the fix. `text`: what to do, an imperative. `edit` edits the pod's
    document in place. `cost`: how far it departs from the intention, 0 for a typo."""

    kind: str
    text: str
    edit: Edit
    cost: float = 0.0


def all_of(kind: str, edits: Sequence[TemplateEdit], joint: str = " and ") -> TemplateEdit:
    """Return the edit that makes all of these."""

    def edit(document: Raw) -> None:
        for one in edits:
            one.edit(document)

    return TemplateEdit(kind, joint.join(one.text for one in edits), edit, sum(one.cost for one in edits))


def containers_of(document: Raw) -> list[Raw]:
    """Return the containers and init containers of a pod."""
    return [*document["spec"].get("containers", []), *document["spec"].get("initContainers", [])]


def patch_of(kind: str, namespace: str, name: str, patch: Raw) -> Change:
    """Return a patch of an object as a change."""
    return Change(patch=Patch(kind=kind, namespace=namespace, name=name, patch=patch))


def of_template(pod: PodInfo, patch: Raw, daemon: bool = False) -> Raw:
    """Return a patch of a pod as one of the template, without what only the pod has.

    Admission adds two tolerations to each pod, the DaemonSet controller (`daemon`) more, and the API server adds the
    pod's own values of matchLabelKeys to selectors. Lists without merge keys contain them.
    """
    spec = copy.deepcopy(patch.get("spec") or {})
    if spec.get("tolerations"):
        spec["tolerations"] = [one for one in spec["tolerations"] if not _is_added(one, daemon)]
    for side in ("podAffinity", "podAntiAffinity"):
        for terms in ((spec.get("affinity") or {}).get(side) or {}).values():
            for term in terms or ():
                _without_own_values(pod, term.get("podAffinityTerm", term))
    for one in spec.get("topologySpreadConstraints") or ():
        _without_own_values(pod, one)
    return {**patch, "spec": spec}


def _is_added(toleration: Raw, daemon: bool) -> bool:
    key, effect = toleration.get("key", ""), toleration.get("effect", "")
    if key in _ADDED and effect == "NoExecute":
        return daemon or toleration.get("tolerationSeconds") == 300
    return daemon and effect == "NoSchedule" and key.removeprefix("node.kubernetes.io/") in _ADDED_TO_DAEMONS


def _without_own_values(pod: PodInfo, term: Raw) -> None:
    keys, selector = term.get("matchLabelKeys") or (), term.get("labelSelector") or {}
    own = [{"key": key, "operator": "In", "values": [pod.labels.get(key)]} for key in keys]
    if own and "matchExpressions" in selector:
        selector["matchExpressions"] = [one for one in selector["matchExpressions"] if one not in own]
        if not selector["matchExpressions"]:
            del selector["matchExpressions"]
