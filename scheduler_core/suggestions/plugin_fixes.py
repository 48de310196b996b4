"""Candidates for rejections of plugins of scheduler-plugins: requests that a NUMA zone holds, larger quotas."""

from functools import partial

from scheduler_core.cluster import formatting
from scheduler_core.cluster.resources import amounts
from scheduler_core.explain.answer import Target
from scheduler_core.forks.template_patch import Raw, TemplateEdit, containers_of, patch_of
from scheduler_core.plugins.contrib.capacity_scheduling import CapacityScheduling, Needs, QuotaUsage, quotas_of
from scheduler_core.plugins.contrib.node_resource_topology_match import NodeResourceTopologyMatch
from scheduler_core.releases import Release
from scheduler_core.suggestions import commands, requests
from scheduler_core.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.suggestions.node_fixes import KEPT


def aligned(situation: Situation) -> Candidates:
    """Yield the reduction of requests to the NUMA zone that leaves most of them, if it leaves enough."""
    wanted = {name: amount for name, amount in situation.pod.requests.items() if amount}
    best: tuple[float, str, dict[str, int]] = (0.0, "", {})
    for context in situation.near:
        topology = situation.cluster.node_topologies.get(context.name)
        if topology is None or context.statuses().keys() != {NodeResourceTopologyMatch.name}:
            continue
        for zone in topology.zones:
            has = amounts({one.name: str(one.available) for one in zone.resources})
            lacking = {name: has[name] for name, amount in wanted.items() if amount > has.get(name, amount)}
            share = min((left / wanted[name] for name, left in lacking.items()), default=0.0)
            best = max(best, (share, f"{zone.name} of {context.name}", lacking), key=lambda one: one[0])
    share, place, lacking = best
    if share >= KEPT:
        rounded = [
            f"{formatting.amount(name, requests.round_down(name, left))} {name}" for name, left in lacking.items()
        ]
        text = f"request {formatting.listing(rounded)}, which {place} has available"
        shrink = partial(_shrink_limits_too, lacking, situation.cluster.release)
        yield situation.edited(TemplateEdit("requests", text, shrink))


def _shrink_limits_too(lacking: dict[str, int], release: Release, document: Raw) -> None:
    """Reduce requests, and the limits that equal them: a pod that is Guaranteed remains so."""
    holders = [c["resources"] for c in containers_of(document) if c.get("resources")]
    equal = [
        (resources, name)
        for resources in holders
        for name in lacking
        if name in resources.get("limits", {}) and resources["limits"][name] == resources.get("requests", {}).get(name)
    ]
    requests.shrink(lacking, release, document)
    for resources, name in equal:
        resources["limits"][name] = resources["requests"][name]


def larger_quota(situation: Situation) -> Candidates:
    """Yield the `max` and `min` of the pods' ElasticQuota with which CapacityScheduling passes them."""
    if CapacityScheduling.name not in {status.plugin for status in (situation.trace.prefilter,) if status}:
        return
    quotas, pod = quotas_of(situation.cluster).refresh(), situation.pod
    quota = quotas.get(pod.namespace)
    if quota is None:
        return
    needs = Needs(pod, QuotaUsage(quotas), situation.cluster)  # with nominated pods
    spec: dict[str, dict[str, str]] = {}
    for name, amount in pod.requests.items():
        others = amount * (len(situation.pods) - 1)
        own = quota.used.get(name, 0) + needs.in_quota.get(name, 0) + others
        lacking = needs.snapshot.total.get(name, 0) + needs.in_all.get(name, 0) + others - quotas.min.get(name, 0)
        if own > quota.max.get(name, own):
            spec.setdefault("max", {})[name] = requests.quantity_text(name, own)
        if lacking > 0:
            spec.setdefault("min", {})[name] = requests.quantity_text(name, quota.min.get(name, 0) + lacking)
    if spec:
        target = Target("ElasticQuota", pod.namespace, quota.object.name)
        parts = [f"{part}.{name} to {text}" for part, given in spec.items() for name, text in given.items()]
        text = f"raise {formatting.listing(parts)} in ElasticQuota {quota.object.name}"
        patch = {"spec": spec}
        yield FixCandidate(
            "quota",
            target,
            text,
            commands.patch(target, patch, "merge"),
            [patch_of(target.kind, target.namespace, target.name, patch)],
            patch,
            "the nodes must have what a higher min guarantees" if "min" in spec else "",
        )
