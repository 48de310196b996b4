"""Reasons of predicates, and which of them preemption cannot resolve.

Predicates have no status codes. Preemption uses the reasons: a node rejected for a reason in UNRESOLVABLE is not tried.
Here the status gets the corresponding code, so that code for statuses works with predicates. Source:
pkg/scheduler/algorithm/predicates/error.go, pkg/scheduler/core/generic_scheduler.go.
"""

from scheduler_core.framework import interface as fwk

SELECTOR = "node(s) didn't match node selector"
HOST = "node(s) didn't match the requested hostname"
TAINTS = "node(s) had taints that the pod didn't tolerate"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
VOLUME_ZONE = "node(s) had no available volume zone"
VOLUME_NODE = "node(s) had volume node affinity conflict"
VOLUME_BIND = "node(s) didn't find available persistent volumes to bind"
NOT_READY = "node(s) were not ready"
NO_NETWORK = "node(s) had unavailable network"
UNSCHEDULABLE = "node(s) were unschedulable"
UNKNOWN_CONDITION = "node(s) had unknown conditions"
MEMORY_PRESSURE = "node(s) had memory pressure"
DISK_PRESSURE = "node(s) had disk pressure"
PID_PRESSURE = "node(s) had pid pressure"

UNRESOLVABLE = frozenset(
    {
        *(SELECTOR, AFFINITY_RULES, HOST, TAINTS, VOLUME_ZONE, VOLUME_NODE, VOLUME_BIND),
        *(NOT_READY, NO_NETWORK, DISK_PRESSURE, PID_PRESSURE, MEMORY_PRESSURE, UNSCHEDULABLE, UNKNOWN_CONDITION),
    }
)


def refusal(*reasons: str) -> fwk.Status:
    """Return the status of a predicate that rejects a node for these reasons."""
    return fwk.unschedulable(*reasons) if UNRESOLVABLE.isdisjoint(reasons) else fwk.unresolvable(*reasons)
