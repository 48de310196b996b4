"""START HERE: suggested fixes for a workload, each simulated for all its pending pods.

The kind of the answer's cause chooses what is tried first (`cause_fixes.py`), so that the first fix agrees with the
sentence. docs/answers.md has the list of what is never suggested.
"""

from collections.abc import Sequence

import msgspec

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import explain
from scheduler_core.explain.answer import Answer, Fix, no_fixes
from scheduler_core.forks.mutations import Change, read_changes
from scheduler_core.framework import causes
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.candidates import FixCandidate, Situation
from scheduler_core.suggestions.cause_fixes import candidates, others
from scheduler_core.suggestions.placing import Placing

MOST = 3
LOOKED_AT = 12  # candidates of one cause that are simulated
NO_FIX = {
    causes.WAITS: "a node takes the pod now",
    causes.ERROR: "the attempt ended in an error",
    causes.NOMINATED: "pods are evicted for the pod",
    causes.POD_GROUP: "the pod waits for its group",
    causes.EXTENDER: "an extender refuses the nodes, and its rules are not known",
    causes.NO_NODES: "there are no nodes",
}
"""Kind of a cause -> why no fixes are searched, as a clause."""
_EFFORT = {
    "uncordon": 1.0,
    "toleration": 1.0,
    "node-selector": 1.0,
    "gate": 1.5,
    "label-node": 1.5,
    "claim-missing": 1.5,
}


def fixes_of(simulation: Simulation, answer: Answer, pods: Sequence[PodInfo]) -> list[Fix]:
    """Return at most MOST fixes, the one that agrees with the answer's cause first.

    `pods`: the pending pods of one workload that are alike; the simulation is left unchanged. A fix whose command only
    shows something places no pod.
    """
    if not pods or answer.cause is None or why_none(answer):
        return []
    situation = Situation(simulation, answer, pods)
    found: list[Fix] = []
    for source in (candidates, others):
        for candidate, _ in zip(filter(None, source(situation)), range(LOOKED_AT), strict=False):
            fix = simulated(situation, candidate) if not _repeats(candidate, found) else None
            if fix is not None:
                found.append(fix)
            if len(found) >= MOST:
                break
        if found:
            break
    return found


def why_none(answer: Answer) -> str:
    """Return why no fixes are searched for an answer, as a sentence; "" if they are."""
    why = NO_FIX.get(answer.cause.kind) if answer.cause is not None else None
    return answer.no_fixes or (no_fixes(why) if why else "")


def _repeats(candidate: FixCandidate, found: Sequence[Fix]) -> bool:
    """Return whether a fix does the same, or reduces the requests to another quantity."""
    once = candidate.kind == "requests" and any((fix.kind, fix.places > 0) == ("requests", True) for fix in found)
    same = ((bool(fix.command) and fix.command == candidate.command) or fix.text == candidate.text for fix in found)
    return once or any(same)


def simulated(situation: Situation, candidate: FixCandidate) -> Fix | None:
    """Return the fix with what its changes do; None if they help no pod."""
    changes = candidate.changes
    placed = candidate.placed
    if placed is None:
        placed = situation.placed(changes) if changes and not candidate.shows else []
    if not placed and not candidate.always:
        return None
    remarks = [candidate.remark]
    if not placed and not candidate.shows:
        remarks.append(_why_still(situation, changes))
    if len(situation.tried) < len(situation.pods) and placed:
        remarks.append(f"only the first {len(situation.tried):,} pods were simulated")
    return Fix(
        kind=candidate.kind,
        target=candidate.target,
        text=candidate.text,
        command=candidate.command,
        patch=candidate.patch,
        places=len(placed),
        of=len(situation.pods),
        node=placed[0] if placed else "",
        changes=[msgspec.to_builtins(change) for change in changes],
        remark="; ".join(filter(None, remarks)),
    )


def _why_still(situation: Situation, changes: Sequence[Change]) -> str:
    """Return why the first pod has no node with the changes, as a remark; "" if it has one or they cannot be made."""
    found: list[str] = []

    def look(trace: CycleTrace, pod: PodInfo) -> None:
        if not trace.placed_on:
            found.append(f"this alone places no pod: {explain(trace, situation.simulation, pod).sentence}")

    try:
        situation.what_if.run(changes, look)
    except InputError:
        return ""
    return found[0].removesuffix(".") if found else ""


# ---- over workloads


def ranked_over(simulation: Simulation, found: Sequence[tuple[Sequence[Fix], Sequence[PodInfo]]]) -> list[Fix]:
    """Return the MOST best fixes over workloads, by the pods that each places for its effort and risk.

    `found`: for each workload, its fixes and its pending pods. A fix that is not an edit of one workload, such as an
    uncordon or more nodes, is simulated for the pods of all workloads, in the order of their priorities.
    """
    everyone = sorted((pod for _, pods in found for pod in pods), key=lambda pod: -pod.priority)
    placing = Placing(simulation, max(3_000_000 // (len(simulation.cluster.nodes) + 250), 300))
    best: dict[object, Fix] = {}
    for fix in (fix for fixes, _ in found for fix in fixes if fix.places):
        key = (fix.kind, fix.command or fix.text)
        if key not in best and len(everyone) > fix.of and (fix.target is None or fix.target.kind == "Node"):
            try:
                placed = placing.place(read_changes(fix.changes), everyone[: max(placing.cycles // 4, 1)])
            except InputError:
                continue
            best[key] = msgspec.structs.replace(fix, places=max(len(placed), fix.places), of=len(everyone))
        best.setdefault(key, fix)
    return sorted(best.values(), key=lambda fix: (-fix.places / _effort(fix), fix.kind, fix.text))[:MOST]


def _effort(fix: Fix) -> float:
    """Return the effort and risk of a fix: more for a weaker constraint, each added node and each deleted pod."""
    added = sum("create" in change and change["create"].get("kind") == "Node" for change in fix.changes)
    deleted = sum("delete" in change for change in fix.changes)
    return float(_EFFORT.get(fix.kind, 2.0) + 3.0 * added + 2.0 * deleted)
