"""The extension points of a cycle, each with its result."""

from collections.abc import Mapping

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status

PASS, REJECT, SKIP, WAIT = "pass", "reject", "skip", "wait"
AFTER_SCORE = ("reserve", "permit", "prebind", "bind", "postbind")
Results = Mapping[str, tuple[str, str]]  # point -> (state, short text)


def point_results(trace: CycleTrace) -> dict[str, tuple[str, str]]:
    """Return the (state, short text) of each extension point that the cycle reached, in order.

    The state is pass, reject, skip or wait. PostFilter is missing if a node is feasible.
    """
    if trace.preenqueue is not None:
        return {"preenqueue": (REJECT, trace.preenqueue.plugin)}
    found = {"preenqueue": (PASS, ""), "prefilter": (PASS, "")}
    feasible = 0 if trace.error and not trace.node else len(trace.feasible_rows())
    if trace.prefilter is not None:
        found["prefilter"] = (REJECT, trace.prefilter.plugin)
    elif trace.node or not trace.error:
        refused = sum(len(rows) for _, rows in trace.decisive_statuses())
        if trace.subset is not None and trace.subset_status is not None:
            refused += trace.there - len(trace.subset)
        found["filter"] = (PASS if feasible else REJECT, f"{feasible} of {feasible + refused} fit")
    post = trace.postfilter
    if post is not None:
        won = post.nominated_node
        found["postfilter"] = (PASS, f"nominates {won}") if won else (REJECT, "does not help")
    if feasible:
        found |= dict.fromkeys(("prescore", "score"), (SKIP, "one node fits"))
        if trace.scores:
            found |= {"prescore": (PASS, ""), "score": (PASS, f"best {int(trace.total().max())}")}
        elif feasible > 1:
            found["score"] = (SKIP, "no plugin scores")
    return found | _binding_results(trace)


def decisive_point(results: Results) -> str:
    """Return the point that decided: where the pod was rejected or waits, or Score if there was a choice."""
    rejected = [point for point, (state, _) in results.items() if state == REJECT]
    if rejected:
        return "filter" if "filter" in rejected else rejected[0]
    waiting = [point for point, (state, _) in results.items() if state == WAIT]
    return waiting[0] if waiting else "score" if results.get("score", (SKIP,))[0] == PASS else "filter"


def rejections(trace: CycleTrace) -> dict[str, Status]:
    """Return point -> the status with which a plugin rejected the pod, of points other than Filter and PostFilter."""
    points = ("preenqueue", "prefilter", *AFTER_SCORE[:-1])
    return {point: status for point in points if (status := getattr(trace, point)) is not None}


def rejection_at(trace: CycleTrace, point: str) -> Status | None:
    """Return the status of `rejections` at one point."""
    return rejections(trace).get(point)


def _binding_results(trace: CycleTrace) -> dict[str, tuple[str, str]]:
    """Return the results of Reserve and what follows it."""
    found: dict[str, tuple[str, str]] = {}
    of_points = rejections(trace)
    rejecting = next((point for point, status in of_points.items() if point in AFTER_SCORE and status.rejected), "")
    if rejecting:
        found = dict.fromkeys(AFTER_SCORE[: AFTER_SCORE.index(rejecting)], (PASS, ""))
        found |= {"reserve": (SKIP, "given back")} if rejecting != "reserve" else {}
        found[rejecting] = (REJECT, of_points[rejecting].plugin or "failed")
    elif trace.node and trace.pends_with_group:
        whole = (WAIT, "pod group waiting") if trace.nominated_node else (REJECT, "pod group not scheduled")
        found = {"reserve": (SKIP, "given back"), "permit": whole}
    elif trace.result == "waiting":
        found = {"reserve": (PASS, ""), "permit": (WAIT, "waits")}
    elif trace.result == "scheduled":
        found = dict.fromkeys(AFTER_SCORE, (PASS, "")) | {"bind": (PASS, trace.node)}
    if trace.permit_waits and found.get("permit", ("",))[0] == PASS:
        found["permit"] = (PASS, "waited")
    return found
