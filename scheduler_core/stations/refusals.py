"""Reads why the API server refused to create a pod, from the error that a controller reports.

Sources: staging/src/k8s.io/apiserver/pkg/admission (errors, webhook), plugin/pkg/admission (resourcequota, limitranger,
serviceaccount, priority, runtimeclass, podsecurity).
"""

import re

from scheduler_core.api import quantity
from scheduler_core.api.objects import PriorityClass
from scheduler_core.cluster.formatting import listing
from scheduler_core.cluster.spelling import nearest
from scheduler_core.errors import InputError
from scheduler_core.live.objects import LimitRange
from scheduler_core.live.store import Store
from scheduler_core.stations.resource_quotas import missing_quantity, requester
from scheduler_core.stations.waits import quoted

_PREFIX = re.compile(
    r"^(?:Error creating(?: job)?: |[Cc]reate (?:Pod|Claim) .*? in StatefulSet \S+ failed error: "
    r'|Failed to create new replica set "[^"]*": )'
)
_CLAIM = re.compile(r"^[Cc]reate Claim (\S+) ")
_FORBIDDEN = "is forbidden: "
_EXCEEDED = re.compile(r"exceeded quota: ([^,\s]+), requested: (\S+), used: (\S+), limited: ([^\s\]]+)")
_UNSPECIFIED = re.compile(r"failed quota: ([^:\s]+): must specify (.+)")
_UNKNOWN = re.compile(r"status unknown for quota: ([^,\s]+), resources: (.+)")
_BOUND = re.compile(
    r"(maximum|minimum) (\S+) usage per (Container|Pod|PersistentVolumeClaim) is ([^\s,\]]*[^\s,\].])"
    r"(?:, but (limit|request) is ([^\s,\]]+))?"
)
_ACCOUNT = re.compile(r'error looking up service account ([^/\s]+)/(\S+): serviceaccount "[^"]*" not found')
_CLASS = re.compile(r"no PriorityClass with name (\S+) was found")
_RUNTIME = re.compile(r'RuntimeClass "([^"]+)" not found')
_SECURITY = re.compile(r'violates PodSecurity "([^":]+)(?::([^"]*))?": (.+)', re.S)
_DENIED = re.compile(r'admission webhook "([^"]+)" denied the request(?:: (.*)| without explanation)', re.S)
_UNREACHABLE = re.compile(r'failed calling webhook "([^"]+)": failed to call webhook: \w+ "([^"]*)": (.+)', re.S)
_POLICY = re.compile(r"ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request: (.+)", re.S)


def read_refusal(message: str, namespace: str, store: Store) -> str:
    """Return what the error of a controller that creates pods says, as a clause; its own words if it has no known
    form."""
    claim = _CLAIM.match(message)
    error = _PREFIX.sub("", message)
    _, found, reason = error.partition(_FORBIDDEN)
    error = quoted(reason if found else error)
    text = _clause(error, namespace, store)
    return f"claim {claim[1]}: {text}" if claim else text


def _clause(error: str, namespace: str, store: Store) -> str:
    if exceeded := _EXCEEDED.findall(error):
        return "; ".join(_exceeded(*one) for one in exceeded)
    if found := _UNSPECIFIED.search(error):
        return f"ResourceQuota {found[1]} requires values that the pods do not state: {found[2]}"
    if found := _UNKNOWN.search(error):
        return f"the use of ResourceQuota {found[1]} has not been computed yet: {found[2]}"
    if bounds := _BOUND.findall(error):
        ranges = [name for one in bounds for name in _limit_ranges(namespace, one, store)]
        who = f"LimitRange {listing(list(dict.fromkeys(ranges)))}: " if ranges else "a LimitRange: "
        return who + "; ".join(_bounded(*one) for one in bounds)
    if found := _ACCOUNT.search(error):
        return f"ServiceAccount {found[2]} does not exist in namespace {found[1]}"
    if found := _CLASS.search(error):
        like = nearest(found[1], (one.name for one in store.objects("PriorityClass") if isinstance(one, PriorityClass)))
        return f"PriorityClass {found[1]} does not exist{f'; there is {like[0]}' if like else ''}"
    if found := _RUNTIME.search(error):
        return f"RuntimeClass {found[1]} does not exist"
    if found := _SECURITY.search(error):
        version = f" ({found[2]})" if found[2] else ""
        return f"PodSecurity level {found[1]}{version} of namespace {namespace} is violated: {found[3]}"
    if found := _UNREACHABLE.search(error):
        return f"admission webhook {found[1]} cannot be called at {found[2]}: {found[3]}"
    if found := _DENIED.search(error):
        return f"admission webhook {found[1]} denies it{f': {found[2]}' if found[2] else ''}"
    if found := _POLICY.search(error):
        return f"ValidatingAdmissionPolicy {found[1]} (binding {found[2]}) denies it: {found[3]}"
    return error


def _exceeded(quota: str, requested: str, used: str, limited: str) -> str:
    """Return what a quota lacks, resource by resource: missing is requested + used - limited."""
    requests, taken, most = (
        dict(one.split("=", 1) for one in text.split(",") if "=" in one) for text in (requested, used, limited)
    )
    parts = []
    for resource, wanted in requests.items():
        part = f"{resource}: {requester(resource)} requests {wanted}, "
        part += f"{taken.get(resource, '?')} of {most.get(resource, '?')} are used"
        if missing := missing_quantity(wanted, taken.get(resource, ""), most.get(resource, "")):
            part += f", {missing} too much"
        parts.append(part)
    return f"ResourceQuota {quota} has too little left of {'; '.join(parts)}"


def _bounded(side: str, resource: str, per: str, bound: str, what: str, value: str) -> str:
    text = f"the {side} of {resource} for a {per} is {bound}"
    return f"{text}, and its {what} is {value}" if what else f"{text}, and it states none"


def _limit_ranges(namespace: str, bound: tuple[str, ...], store: Store) -> list[str]:
    """Return the LimitRanges of a namespace with this bound."""
    side, resource, per, value = bound[:4]
    return [
        one.name
        for one in store.objects("LimitRange")
        if isinstance(one, LimitRange) and one.namespace == namespace
        for item in one.spec.limits
        if item.type == per and _equal((item.max if side == "maximum" else item.min).get(resource), value)
    ]


def _equal(one: str | float | None, other: str) -> bool:
    try:
        return one is not None and quantity.nano_value(one) == quantity.nano_value(other)
    except (InputError, ValueError):
        return False
