"""The ResourceQuotas that a refusal names: what is used, the hard limit, and what a pod requests.

Source: pkg/quota/v1/evaluator/core/pods.go (podComputeUsageHelper).
"""

import re
from collections.abc import Iterable, Iterator

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod
from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.resources import requests_of
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Part
from scheduler_core.explain.quotas import QuotaPicture, QuotaUse, QuotaView
from scheduler_core.live.objects import ResourceQuota
from scheduler_core.live.store import Store
from scheduler_core.releases import NEWEST, get_release

MAX_QUOTAS = 5
MAX_RESOURCES = 30  # of a quota
_NAMED = re.compile(r"quota: ([^,:\s]+)[,:]")
_REQUESTED = re.compile(r"requested: (\S+), used: ")
_PREFIX = "requests."
_COUNTED = ("pods", "count/pods")
_REQUESTS = ("cpu", "memory", "ephemeral-storage")


class ResourceQuotaUse(Part):
    """A resource of a ResourceQuota, in quantities of the API. `requested`: by a pod, "" if it is not known. `missing`:
    how much used and requested exceed `hard`, "" if they do not."""

    quota: str
    resource: str
    used: str
    hard: str
    requested: str = ""
    missing: str = ""


def quota_uses(message: str, namespace: str, store: Store, pods: Iterable[Pod]) -> list[ResourceQuotaUse]:
    """Return the use of the quotas that an error names, as the API server has counted it last.

    `pods`: of the same workload; they show what a pod requests beyond what the error says.
    """
    named = set(_NAMED.findall(message))
    quotas = [obj for obj in store.objects("ResourceQuota") if isinstance(obj, ResourceQuota)]
    like = _requests_of(next(iter(pods), None))
    found = []
    for quota in [one for one in quotas if one.namespace == namespace and one.name in named][:MAX_QUOTAS]:
        requested = like | _requested(message, quota.name)
        for resource, hard in sorted(quota.status.hard.items())[:MAX_RESOURCES]:
            used, wants = str(quota.status.used.get(resource, 0)), requested.get(resource, "")
            missing = missing_quantity(wants, used, str(hard)) if wants else ""
            resource, used, most, wants = map(escaped, (resource, used, str(hard), wants))
            found.append(ResourceQuotaUse(quota.name, resource, used, most, wants, missing))
    return found


def _requested(message: str, quota: str) -> dict[str, str]:
    """Return what the error says that the pod requests of a quota: resource -> quantity."""
    found = _REQUESTED.search(message.partition(f"quota: {quota},")[2])
    return dict(one.split("=", 1) for one in found[1].split(",") if "=" in one) if found else {}


def _requests_of(pod: Pod | None) -> dict[str, str]:
    """Return what quotas count for a pod, without its limits: resource -> quantity."""
    if pod is None:
        return {}
    found = dict.fromkeys(_COUNTED, "1")
    for resource, number in requests_of(pod, get_release(NEWEST))[0].items():
        text = f"{number}m" if resource == "cpu" else quantity.binary(number) if resource in _REQUESTS else f"{number}"
        found[f"{_PREFIX}{resource}"] = text
        if resource in _REQUESTS or resource.startswith("hugepages-"):
            found[resource] = text
    return found


def missing_quantity(requested: str, used: str, hard: str) -> str:
    """Return how much used and requested exceed the hard limit; "" if they do not, or cannot be read."""
    try:
        nano = quantity.nano_value(requested) + quantity.nano_value(used) - quantity.nano_value(hard)
    except (InputError, ValueError):
        return ""
    if nano <= 0:
        return ""
    whole, binary = nano // 1_000_000_000, requested.endswith("i")
    if binary and nano % 1_000_000_000 == 0:
        return quantity.binary(whole)
    return f"{whole}" if nano % 1_000_000_000 == 0 else f"{-(-nano // 1_000_000)}m"


def quota_lines(uses: Iterable[ResourceQuotaUse], message: str) -> Iterator[str]:
    """Yield a line for each resource that an error names."""
    for use in uses:
        if f"{use.resource}=" in message:
            yield f"ResourceQuota {use.quota} now: {use.resource} {_text(use)}"


def picture_of(uses: Iterable[ResourceQuotaUse]) -> QuotaPicture | None:
    """Return the quotas as bars; None if there are none."""
    views: dict[str, QuotaView] = {}
    for use in uses:
        view = views.setdefault(use.quota, QuotaView("", use.quota, None, False, False, []))
        view.uses.append(_bar(use))
    return QuotaPicture(list(views.values()), [], 0) if views else None


def _bar(use: ResourceQuotaUse) -> QuotaUse:
    used, wanted, hard = (_number(text) for text in (use.used, use.requested, use.hard))
    share = 100 / (max(used + wanted, hard) or 1)
    over = "max" if use.missing else ""
    return QuotaUse(use.resource, used * share, 0.0, wanted * share, hard * share, None, over, _text(use))


def requester(resource: str) -> str:
    """Return what counts against a resource of a quota: a pod, a claim or another object."""
    if resource.endswith("requests.storage") or resource.endswith("persistentvolumeclaims"):
        return "a claim"
    _, _, counted = resource.partition("count/")
    names = {"jobs.batch": "a Job", "replicasets.apps": "a ReplicaSet"}
    return names.get(counted, "a new object") if counted and counted != "pods" else "a pod"


def _number(text: str) -> float:
    try:
        return float(quantity.nano_value(text)) if text else 0.0
    except (InputError, ValueError):
        return 0.0


def _text(use: ResourceQuotaUse) -> str:
    text = f"{use.used} of {use.hard}"
    if use.requested:
        text += f", {requester(use.resource)} requests {use.requested}"
    return text + (f": {use.missing} too much" if use.missing else "")
