"""The ElasticQuotas of a cluster: what each guarantees and allows, what is used and borrowed, and what a pod requests.

The quantities are those that CapacityScheduling counts.
"""

from typing import NamedTuple

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import amount
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.plugins.contrib.capacity_scheduling import NATIVE, UNBOUNDED, Needs, Quota, QuotaUsage, quotas_of

SHOWN = 50  # quotas


class QuotaUse(NamedTuple):
    """A resource of a quota.

    `used`, `borrowed`, `wanted`: what is used within `min`, what is used beyond it, and what the pod and nominated
    pods request, one after the other; `min_at`, `max_at`: the bounds, None if there is none. In percent of the longest
    of these. `over`: why the pod is rejected: "max", "min" (of all quotas) or "".
    """

    resource: str
    used: float
    borrowed: float
    wanted: float
    min_at: float
    max_at: float | None
    over: str
    text: str


class QuotaView(NamedTuple):
    """A quota. `holds`: whether the pod is in its namespace. `pods`: those that count, None if it is not known."""

    namespace: str
    name: str
    pods: int | None
    holds: bool
    borrows: bool
    uses: list[QuotaUse]


class QuotaPicture(NamedTuple):
    """`quotas`: that of the pod first, then those that borrow. `total`: all quotas together, whose bound is the sum of
    `min`; empty for ResourceQuotas. `more`: quotas that are not shown."""

    quotas: list[QuotaView]
    total: list[QuotaUse]
    more: int


def picture_of(cluster: Cluster, pod: PodInfo | None = None) -> QuotaPicture | None:
    """Return the quotas of a cluster as CapacityScheduling counts them, with a pending pod; None if there are none."""
    quotas = quotas_of(cluster)
    if not quotas:
        return None
    needs = None
    if pod is not None and pod.namespace in quotas:
        needs = Needs(pod, QuotaUsage(quotas), cluster)
    total = {"min": quotas.min, "used": QuotaUsage(quotas).total}
    together = [
        _use(name, total["used"].get(name, 0), total["min"].get(name, 0), None, needs.in_all if needs else {}, "min")
        for name in _names(total["min"], total["used"], needs.in_all if needs else {})
    ]
    views = []
    for namespace, quota in quotas.items():
        wanted = needs.in_quota if needs is not None and pod is not None and pod.namespace == namespace else {}
        unlimited = quota.object.spec.max is None
        uses = [
            _use(name, quota.used.get(name, 0), quota.min.get(name, 0), _max(quota, name), wanted, "max")
            for name in _names(quota.min, {} if unlimited else quota.max, quota.used, wanted)
        ]
        borrows = any(use.borrowed for use in uses)
        views.append(QuotaView(namespace, quota.object.name, len(quota.pods), bool(wanted), borrows, uses))
    views.sort(key=lambda view: (not view.holds, not view.borrows, view.namespace))
    return QuotaPicture(views[:SHOWN], together, max(0, len(views) - SHOWN))


def _max(quota: Quota, name: str) -> int | None:
    most = quota.max.get(name, 0 if name in NATIVE else UNBOUNDED)
    return None if most == UNBOUNDED else most


def _names(*amounts: dict[str, int]) -> list[str]:
    """Return the resources with an amount, cpu and memory first."""
    found = {name for one in amounts for name, number in one.items() if number}
    return [*(name for name in NATIVE if name in found), *sorted(found.difference(NATIVE))]


def _use(name: str, used: int, least: int, most: int | None, wanted: dict[str, int], bound: str) -> QuotaUse:
    """`most`: None is no limit. `bound`: which of the bounds rejects the pod."""
    wants = wanted.get(name, 0)
    limit = most if bound == "max" else least
    counts = bool(wanted) and (wants or name in NATIVE or bound == "min")  # as upstream, native ones always count
    over = bound if limit is not None and counts and used + wants > limit else ""
    share = 100 / (max(used + wants, least, most or 0) or 1)
    borrowed = max(0, used - least)
    if bound == "max":
        most_text = "no max" if most is None else f"max {amount(name, most)}"
        text = f"{amount(name, used)} used of min {amount(name, least)}, {most_text}"
    else:
        text = f"{amount(name, used)} used of {amount(name, least)} guaranteed"
    if borrowed:
        text += f"; {amount(name, borrowed)} {'borrowed' if bound == 'max' else 'more than guaranteed'}"
    if wants:
        text += f"; requests {amount(name, wants)}"
    if over:
        text += f": more than {'max' if over == 'max' else 'guaranteed'}"
    return QuotaUse(
        name,
        min(used, least) * share,
        borrowed * share,
        wants * share,
        least * share,
        None if most is None else most * share,
        over,
        text,
    )
