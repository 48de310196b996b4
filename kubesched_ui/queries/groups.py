"""Pod groups of a stored run: the result of each in a sentence, and of its members."""

from collections.abc import Mapping
from typing import Any

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Cycle, GroupCycle, Run
from kubesched_ui.queries.shortfalls import headroom_of
from scheduler_core.cluster.formatting import listing, some
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import explain
from scheduler_core.explain.groups import OUTSIDE, verdict
from scheduler_core.explain.summary import reason_text
from scheduler_core.search.headroom import FIT

NAMED = 3
GANG = "GangScheduling"


def sentence_of(run: Run, group: GroupCycle) -> str:
    """Return the group's result with the obstacle of its first member without a feasible node. Raises InputError."""
    data = group.told
    out = next((member for member in data["members"] if not member["fits"]), None)
    row = run.cycles.filter(number=out["cycle"]).first() if out is not None and not out["preempts"] else None
    return verdict(data, obstacle(run, row, data["placement"]) if row is not None else "")


def obstacle(run: Run, row: Cycle, domain: str = "") -> str:
    """Return why a member fits nowhere, such as `lacks 2 cpu on every node`. Raises InputError."""
    row.run = run
    trace, nodes = trace_of(row), row.nodes
    if trace.prefilter is not None:
        return f"is rejected by {trace.prefilter.plugin or 'PreFilter'} ({reason_text(trace.prefilter)})"
    if trace.reserve is not None:
        return f"is rejected by {trace.reserve.plugin} after {trace.node} was chosen ({reason_text(trace.reserve)})"
    headroom = None if run.active else headroom_of(run, row, trace)
    answer = explain(trace, names=nodes)
    inside = [group for group in answer.groups if group.reasons != [OUTSIDE]]
    names = [name for group in inside for name in group.nodes]
    everywhere = ""
    if headroom is not None and inside and all(group.plugin == FIT for group in inside):
        everywhere = headroom.everywhere(names)
    reasons = [rung.text for rung in answer.ladder if set(rung.nodes) <= set(names)]
    if everywhere:
        return f"lacks {everywhere} on every node" + (f" of {domain}" if domain else "")
    return f"fits on no node ({listing(reasons[:NAMED])})" if reasons else ""


def note_of(run: Run, row: Cycle) -> str:
    """Return a remark on suggested fixes for a group member; "" for other pods."""
    row.run = run
    trace = trace_of(row)
    if trace.preenqueue is not None and trace.preenqueue.plugin == GANG:
        return "The pod waits until its pod group exists and has enough pods. Changing nodes does not help."
    if not trace.pends_with_group:
        return ""
    if trace.node and trace.reserve is None:
        return (
            f"{trace.node} is feasible for this pod. The pod is pending because of its group, {trace.group}. "
            "Open the member without a feasible node for suggested fixes."
        )
    return f"A fork with a change schedules the whole group {trace.group} again."


def group_of(run: Run, row: Cycle, trace: CycleTrace, pod: Mapping[str, Any] | None) -> GroupCycle | None:
    """Return the group cycle that a member's cycle belongs to; for a pod held in PreEnqueue, its group's last one."""
    if trace.group:
        namespace, _, name = trace.group.partition("/")
        return group_at(run, namespace, name, row.number)
    named = ((pod or {}).get("spec") or {}).get("schedulingGroup") or {}
    own = named.get("podGroupName") if isinstance(named, Mapping) else None
    return group_at(run, row.namespace, own) if own else None


def group_at(run: Run, namespace: str, name: str, cycle: int | None = None) -> GroupCycle | None:
    """Return the group's last cycle, or the one that contains the member's cycle with this number."""
    found = run.group_cycles.filter(namespace=namespace, name=name)
    if cycle is not None:
        found = found.filter(first__lte=cycle, last__gte=cycle)
    return found.order_by("first").last()


def detail(run: Run, group: GroupCycle) -> dict[str, Any]:
    """Return all data of a group's cycle, with its sentence. Raises InputError."""
    data = dict(group.told)
    data.pop("next_start_index", None)
    data["members"] = [{**member, "fit_error": member["said"]} for member in data["members"]]
    cycles = list(run.group_cycles.filter(namespace=group.namespace, name=group.name).values_list("first", "last"))
    return data | {
        "sentence": sentence_of(run, group),
        "first": group.first,
        "last": group.last,
        "attempt": cycles.index((group.first, group.last)) + 1,
        "attempts": [{"first": first, "last": last} for first, last in cycles],
    }


def summary(run: Run, group: GroupCycle) -> dict[str, Any]:
    """Return a group as an entry of lists."""
    data = group.told
    try:
        sentence = sentence_of(run, group)
    except InputError:
        sentence = verdict(data)
    return {
        "name": group.key,
        "namespace": group.namespace,
        "own_name": group.name,
        **{key: data[key] for key in ("policy", "min_count", "topology_key")},
        **{key: getattr(group, key) for key in ("result", "members", "bound", "first", "last")},
        "fit": sum(member["fits"] for member in data["members"]),
        "held": len(data["held"]),
        "victims": len(data["victims"]),
        "sentence": sentence,
        "pods": some([member["pod"].partition("/")[2] for member in data["members"]], NAMED),
    }
