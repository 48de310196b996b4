"""The steps of a cycle: each plugin's result in the order of the framework, with nodes in compact form.

Node rows are ranges [first, last], both inclusive. Columns of scores cover the feasible nodes in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import count
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.summary import reason_text
from scheduler_core.framework.interface import Status

Rows = npt.NDArray[np.intp]


def cycle_data(trace: CycleTrace, scores_of: str = "") -> dict[str, Any]:
    """Return a cycle's data for a map of the nodes.

    `steps`: see `steps`. `filters`: [{plugin, decisive, also: [{code, reasons, rows}]}] in execution order; `decisive`
    are the nodes that the plugin was the first to reject, `also` other nodes that it rejects. `left_out`: {reasons,
    rows} of PreFilter, or None. `feasible`, `unlooked`: rows. `total`: total scores of the feasible nodes, [] if
    nothing was scored. `weights`: Score plugin -> weight. `scores`: {raw, normalized} of plugin `scores_of`.
    `postfilter`: {status, nominated, rule, any_of, candidates: [{node, victims, violations}]} or None. Raises
    InputError if plugin `scores_of` did not score.
    """
    return {
        "steps": list(steps(trace)),
        "nodes": trace.nodes,
        "rejected": status_data(trace.preenqueue or trace.prefilter),
        "filters": [_filter(trace, plugin) for plugin in trace.verdicts],
        "nominated": [{"row": row, "status": status_data(status)} for row, status in trace.nominated.items()],
        "left_out": _left_out(trace),
        "unlooked": ranges(_unlooked(trace)),
        "feasible": ranges(trace.feasible_rows()),
        "selected": trace.selected_row if trace.node else -1,
        "total": trace.total().tolist() if trace.scores else [],
        "weights": {plugin: score.weight for plugin, score in trace.scores.items()},
        "scores": _scores(trace, scores_of) if scores_of else None,
        "postfilter": _postfilter(trace),
        "victims": trace.victims,
    }


def cycle_until(trace: CycleTrace, shown: int) -> dict[str, Any]:
    """Return `cycle_data` as far as the first `shown` steps show it, for pages that hide what follows.

    Additional: `points`: Score plugin -> normalized scores of the feasible nodes. `node`: the selected node, "" before
    it is known. What no step shows is left out.
    """
    data = cycle_data(trace)
    seen, hidden = data["steps"][:shown], data["steps"][shown:]
    known = {(step["point"], step["plugin"]) for step in seen}
    points = {point for point, _ in known}
    # A step of Filter says nothing of the nodes that later plugins reject.
    filtered = bool(points & {"filter", "postfilter", "score"}) and all(step["point"] != "filter" for step in hidden)
    rejected = data["rejected"] is not None and not hidden
    chosen = any(step["point"] == "postfilter" and not step["node"] for step in seen)
    dry_runs = {step["node"] for step in seen if step["point"] == "postfilter"}
    selected = bool(seen) and seen[-1]["point"] in ("reserve", "permit", "prebind", "bind")
    return {
        "steps": seen,
        "nodes": data["nodes"],
        "rejected": data["rejected"] if rejected else None,
        "filters": [
            {"plugin": one["plugin"], "decisive": one["decisive"]}
            for one in data["filters"]
            if ("filter", one["plugin"]) in known
        ],
        "nominated": data["nominated"] if ("filter", "") in known else [],
        "left_out": data["left_out"] if ("prefilter", "") in known else None,
        "unlooked": data["unlooked"] if filtered else [],
        "feasible": data["feasible"] if filtered else [],
        "total": data["total"] if ("score", "") in known else [],
        "points": {
            plugin: score.normalized.tolist() for plugin, score in trace.scores.items() if ("score", plugin) in known
        },
        "postfilter": _postfilter_until(data["postfilter"], dry_runs, chosen),
        "victims": data["victims"] if chosen else [],
        "node": trace.node if selected else "",
    }


def _postfilter_until(found: dict[str, Any] | None, nodes: Collection[str], chosen: bool) -> dict[str, Any] | None:
    """Return the candidates on `nodes`. `chosen`: whether the nominated node is known."""
    if found is None or not nodes:
        return None
    candidates = [one for one in found["candidates"] if one["node"] in nodes]
    return {"nominated": found["nominated"] if chosen else "", "candidates": candidates}


def steps(trace: CycleTrace) -> Iterator[dict[str, Any]]:
    """Yield {point, plugin ("" for the framework), node ("" for the pod or all nodes), message} for each result."""
    if trace.preenqueue is not None:
        yield _step("preenqueue", trace.preenqueue.plugin, text=reason_text(trace.preenqueue))
        return
    for plugin in trace.skipped_filter:
        yield _step("prefilter", plugin, text="is skipped for this pod")
    if trace.prefilter is not None:
        yield _step("prefilter", trace.prefilter.plugin, text=reason_text(trace.prefilter))
    elif trace.subset_status is not None and trace.subset is not None and len(trace.subset) < trace.nodes:
        yield _step("prefilter", "", text=f"leaves {len(trace.subset):,} of {trace.nodes:,} nodes to evaluate")
    if trace.prefilter is None:
        yield from _filter_steps(trace)
    yield from _postfilter_steps(trace)
    for plugin in trace.skipped_score:
        yield _step("prescore", plugin, text="is skipped for this pod")
    for plugin, score in trace.scores.items():
        yield _step("score", plugin, text=f"{span_text(score.normalized)} points, weight {score.weight}")
    if trace.scores:
        total = trace.total()
        yield _step("score", "", text=f"totals: {span_text(total)}")
    if trace.node:
        yield from _binding_steps(trace)


def _filter_steps(trace: CycleTrace) -> Iterator[dict[str, Any]]:
    decisive = trace.decisive()
    looked = trace.looked_mask()
    for number, (plugin, verdict) in enumerate(trace.verdicts.items(), 1):
        if verdict.codes is None or decisive is None:
            yield _step("filter", plugin, text="accepts every node")
            continue
        refused, first = int(np.count_nonzero(verdict.codes)), int(np.count_nonzero((decisive == number) & looked))
        also = f", {refused - first:,} more that were rejected before or not evaluated" if refused > first else ""
        yield _step("filter", plugin, text=f"decides against {first:,} of {trace.nodes:,} nodes{also}")
    if trace.nominated:
        out = sum(text is not None for text in trace.nominated.values())
        text = f"with nominated pods counted, {out:,} of {len(trace.nominated):,} nodes are full"
        yield _step("filter", "", text=text)


def _postfilter_steps(trace: CycleTrace) -> Iterator[dict[str, Any]]:
    found = trace.postfilter
    if found is None:
        return
    plugin = found.status.plugin if found.status is not None and found.status.plugin else found.plugin
    for node, (victims, violations) in found.candidates.items():
        broken = f", {violations} violating a disruption budget" if violations else ""
        yield _step("postfilter", plugin, node, f"{count(len(victims), 'pod')} evicted{broken}")
    chosen = f"nominates {found.nominated_node}" if found.nominated_node else "finds no candidate"
    yield _step("postfilter", plugin, text=chosen)


def _binding_steps(trace: CycleTrace) -> Iterator[dict[str, Any]]:
    for point in ("reserve", "permit", "prebind", "bind"):
        status: Status | None = getattr(trace, point)
        if status is not None and status.rejected:
            yield _step(point, status.plugin, trace.node, reason_text(status))
            return
        if point == "permit" and trace.permit_waits:
            for plugin in trace.permit_waits:
                yield _step(point, plugin, trace.node, "makes the pod wait")
            return
        if point in ("reserve", "bind"):
            yield _step(point, "", trace.node)


def _step(point: str, plugin: str, node: str = "", text: str = "") -> dict[str, Any]:
    return {"point": point, "plugin": plugin, "node": node, "message": text}


def span_text(values: npt.NDArray[np.int64]) -> str:
    """Return `3`, or `0 to 100`."""
    lowest, highest = int(values.min()), int(values.max())
    return f"{lowest:,}" if lowest == highest else f"{lowest:,} to {highest:,}"


def status_data(status: Status | None) -> dict[str, Any] | None:
    """Return a status as {plugin, code, reasons}."""
    return None if status is None else {"plugin": status.plugin, "code": status.code, "reasons": list(status.reasons)}


def _filter(trace: CycleTrace, plugin: str) -> dict[str, Any]:
    verdict, decisive = trace.verdicts[plugin], trace.decisive()
    if verdict.codes is None or decisive is None:
        return {"plugin": plugin, "decisive": [], "also": []}
    decided = decisive == list(trace.verdicts).index(plugin) + 1
    looked = trace.looked_mask()

    def statuses_of(mask: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
        found = []
        for code, status in enumerate(verdict.statuses, 1):
            rows = np.flatnonzero(mask & (verdict.codes == code))
            if len(rows):
                found.append({"code": status.code, "reasons": list(status.reasons), "rows": ranges(rows)})
        return found

    return {"plugin": plugin, "decisive": statuses_of(decided & looked), "also": statuses_of(~(decided & looked))}


def _left_out(trace: CycleTrace) -> dict[str, Any] | None:
    if trace.subset is None or trace.subset_status is None:
        return None
    out = np.setdiff1d(np.arange(trace.nodes), trace.subset)
    return {"reasons": list(trace.subset_status.reasons), "rows": ranges(out)}


def _unlooked(trace: CycleTrace) -> Rows:
    """Return the nodes that PreFilter allowed but the cycle did not evaluate."""
    if trace.looked is None or trace.prefilter is not None:
        return np.zeros(0, np.intp)
    rows = np.flatnonzero(~trace.looked)
    return rows if trace.subset is None else np.intersect1d(rows, trace.subset)


def _scores(trace: CycleTrace, plugin: str) -> dict[str, Any]:
    score = trace.scores.get(plugin)
    if score is None:
        raise InputError("scores", "", f"{plugin[:100]!r} gave no scores in this cycle")
    return {"plugin": plugin, "raw": score.raw.tolist(), "normalized": score.normalized.tolist()}


def _postfilter(trace: CycleTrace) -> dict[str, Any] | None:
    found = trace.postfilter
    if found is None:
        return None
    return {
        "status": status_data(found.status),
        "nominated": found.nominated_node,
        "rule": found.rule,
        "any_of": found.nominated_any_of,
        "candidates": [
            {"node": node, "victims": victims, "violations": violations}
            for node, (victims, violations) in found.candidates.items()
        ],
    }


def ranges(rows: Sequence[int] | Rows, most: int | None = None) -> list[list[int]]:
    """Return ascending rows as [first, last] pairs, at most the first `most` of them."""
    column = np.asarray(rows, np.int64)
    if not len(column):
        return []
    breaks = np.flatnonzero(np.diff(column) != 1)[:most]
    starts = np.concatenate((column[:1], column[breaks + 1]))[:most]
    ends = np.concatenate((column[breaks], column[-1:]))[:most]
    pairs: list[list[int]] = np.column_stack((starts, ends)).tolist()
    return pairs
