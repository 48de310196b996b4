"""Schedulers other than kube-scheduler, by the pods that are theirs. None of them is simulated."""

from collections.abc import Mapping

from scheduler_core.api.objects import Pod

NAMES: Mapping[str, str] = {
    "kai-scheduler": "KAI Scheduler",
    "koord-scheduler": "Koordinator",
    "runai-scheduler": "Run:ai",
    "volcano": "Volcano",
    "yunikorn": "Apache YuniKorn",
}
"""Default `schedulerName` -> project."""

_KEYS: Mapping[str, str] = {"scheduling.k8s.io/group-name": "Volcano"}  # its annotation of PodGroups, from kube-batch
_DOMAINS: Mapping[str, str] = {
    "kai.scheduler": "KAI Scheduler",
    "koordinator.sh": "Koordinator",
    "volcano.sh": "Volcano",
    "yunikorn.apache.org": "Apache YuniKorn",
}


def marks(pod: Pod) -> str:
    """Return the project whose labels or annotations the pod has; "" if there are none."""
    for key in (*pod.metadata.labels, *pod.metadata.annotations):
        if key in _KEYS:
            return _KEYS[key]
        domain = key.partition("/")[0]
        for known, project in _DOMAINS.items():
            if domain.endswith(known) and domain.removesuffix(known)[-1:] in ("", "."):
                return project
    return ""
