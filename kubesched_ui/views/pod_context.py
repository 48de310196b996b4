"""Context of the pod page: the answer, and every extension point of one attempt."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.core.paginator import Paginator
from django.urls import reverse

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import ClusterObject, Cycle, PodResult, Run
from kubesched_ui.presenters import attempts, charts, cycle_rows, plugin_notes, pod_moments, pod_timeline
from kubesched_ui.presenters.attempts import Attempt, PodState, chosen_index
from kubesched_ui.presenters.cycle_presenter import OLD_POINTS, POINTS, reached, steps
from kubesched_ui.presenters.sentence_links import CycleLinks, SentenceLink, node_links, pod_links
from kubesched_ui.queries import answers, claims, pod_fixes, remedies, stations
from kubesched_ui.queries.recording_cache import NotRecorded, object_at, recording_of
from kubesched_ui.queries.remedies import rules_of
from kubesched_ui.queries.shortfalls import headroom_of
from kubesched_ui.runs import build_simulation
from kubesched_ui.scenarios import stored_cluster
from kubesched_ui.views import pod_group_context, run_context
from scheduler_core.api.duration import clock
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import Answer, explain, explain_node
from scheduler_core.explain.answer import Preemption
from scheduler_core.explain.matrix import Matrix, matrix_of
from scheduler_core.explain.points import decisive_point, rejection_at
from scheduler_core.explain.preemption import in_order, preemption_of, rejected_nodes
from scheduler_core.explain.scores import against, best_places, ranked_at, ranking
from scheduler_core.framework.interface import EXTENDER
from scheduler_core.plugins import REGISTRY
from scheduler_core.plugins.contrib.capacity_scheduling import CapacityScheduling
from scheduler_core.releases import get_release
from scheduler_core.releases.remarks import cluster_remarks
from scheduler_core.stations.waits import SCHEDULER

GROUPS_SHOWN = 60
SCORES_SHOWN = 25
BARS = 16  # nodes in the chart of scores
TONES = {"scheduled": "ok", "waiting": "live", "binding": "live", "unschedulable": "bad", "refused": "bad"}
TONES |= {"unreserved": "bad", "gated": "held", "error": "odd", "unbound": "odd"}
KEPT = ("point", "plugin", "t")
# Points of provenance trees (docs/debugger.md) -> the panel that contains them.
PANELS = dict.fromkeys(("raw", "normalized", "weighted", "total"), "score") | {"preemption": "postfilter"}
# Fields of a pod that plugins read: YAML key -> plugins.
READ_BY = {
    field: " ".join(name for name, plugin in REGISTRY.items() if field in plugin.pod_fields)
    for plugin in REGISTRY.values()
    for field in plugin.pod_fields
}


def context(run: Run, namespace: str, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the context of pod.html, or None if neither the run nor its scenario has the pod."""
    key = f"{namespace}/{name}"
    rows = list(Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("number").defer("trace"))
    result = PodResult.objects.filter(run=run, namespace=namespace, name=name).first()
    stored = ClusterObject.objects.filter(scenario=run.scenario_id, kind="Pod", namespace=namespace, name=name).first()
    added = (one for one in build_simulation.added_pods(run) if build_simulation.pod_key(one) == key)
    pod = stored.data if stored else next(added, None)
    if not rows and pod is None:
        return None
    at = chosen_index(rows, query)
    going = {key: query[key][:300] for key in KEPT if query.get(key)}
    if pod is None:  # it was created during the run
        with suppress(NotRecorded):
            pod = object_at(run, "Pod", key, recording_of(run).before_cycle(rows[at].number))
    events = list(pod_timeline.events_of(run, key))
    groups = attempts.grouped(events)
    came_to = [attempts.attempt_of(group) for group in groups]
    came_to += [Attempt(row.result) for row in rows[len(came_to) :]]  # attempts beyond the events that were read
    page: dict[str, Any] = {
        "run": run,
        "namespace": namespace,
        "name": name,
        "strip": strip(rows, came_to, at),
        "cycle_row": rows[at] if rows else None,
        "beginning": f"cycle {rows[at].number}" if rows else "start",
        "came_to": came_to[at] if rows else None,
        "result": result,
        "place": place(run, result, events, came_to[-1].result if came_to else ""),
        "place_links": [*node_links(run, [result.node]), *pod_links(run, [result.evicted_by])] if result else [],
        "kept": f"?{urlencode(going)}" if going else "",
    }
    if stored is not None and (result is not None or not run.active):
        page["in_snapshot"] = stations.of_pod(run, stored.data, result)
    elif pod is not None and result is not None:
        page["in_snapshot"] = stations.of_created_pod(run, pod, result)
    page |= about_timeline(run, key, rows, came_to, groups, result)
    page |= about_pod(run, key, pod, result) | neighbours(run, result)
    if not rows:
        return page | {"point": ""}
    group = groups[at] if at < len(groups) else []
    page |= about_cycle(run, rows[at], query, page["bound_to"], came_to[at], group, at == len(rows) - 1)
    page |= pod_group_context.of_member(run, rows[at], trace_of(rows[at]), pod)
    if page["claims"] and pod is not None:
        given = given_devices(run, rows[at], pod, came_to[at])
        page["facts"] |= {point: [*page["facts"].get(point, []), *given] for point in ("reserve", "prebind") if given}
    return page


def strip(rows: Sequence[Cycle], came_to: Sequence[Attempt], at: int) -> dict[str, Any]:
    """Return the attempts with their addresses, and links to the first, previous, next and last one."""
    often = Counter(row.attempt for row in rows)  # attempt numbers repeat if a pod was recreated under the same name
    entries = [
        {
            "number": row.attempt,
            "attempt": row.attempt if often[row.attempt] == 1 else None,
            "cycle": row.number if often[row.attempt] > 1 else None,
            "result": came.result,
            "nominated": came.nominated,
            "current": index == at,
        }
        for index, (row, came) in enumerate(zip(rows, came_to, strict=False))
    ]
    ways = {"first": 0, "prev": at - 1, "next": at + 1, "last": len(entries) - 1}
    return {
        "entries": entries,
        "at": at + 1,
        **{way: entries[to] if 0 <= to < len(entries) and to != at else None for way, to in ways.items()},
    }


def place(run: Run, result: PodResult | None, events: Sequence[dict[str, Any]], came_to: str) -> PodState | None:
    """Return where the pod is now. For a single pass, it differs from the last attempt only after an eviction."""
    if run.in_time:
        return attempts.pod_state(events, run.clock, not run.active)
    if result is None:
        return None
    if result.evicted_by:
        return PodState("evicted", f"Evicted later in this run by preemption for {result.evicted_by}.", result.node)
    return PodState(came_to or result.result, "", result.node)


def about_timeline(
    run: Run,
    key: str,
    rows: Sequence[Cycle],
    came_to: Sequence[Attempt],
    groups: Sequence[Sequence[dict[str, Any]]],
    result: PodResult | None,
) -> dict[str, Any]:
    """Return the names of the extension points, whether the run will try the pod, its place in the queue and its
    moments. In virtual time the browser writes the latter."""
    names = OLD_POINTS if get_release(run.release).predicates else POINTS
    page: dict[str, Any] = {"points": names, "waits": run.active and not rows}
    if run.in_time:
        return page
    place = pod_moments.place_of(run, key, result)
    moments = pod_moments.of_single_pass(run, place, rows, came_to, groups, result)
    if run.active and not run.last_seq:
        moments.append(pod_moments.PodMoment("now", "The run has not begun", run_context.waits(run)))
    page["waits"] = page["waits"] and (place is not None or not run.last_seq)
    return page | {"in_queue": place, "moments": moments}


def about_pod(run: Run, key: str, pod: dict[str, Any] | None, result: PodResult | None) -> dict[str, Any]:
    """Return the pod's YAML, and its state in the snapshot."""
    known = stored_cluster.pods_of_scenario(run.scenario, [key]).get(key)
    message = known.message if known else result.recorded_message if result else ""
    bound = known.node if known else ""
    claims = bool(pod and (pod.get("spec") or {}).get("resourceClaims"))
    found = {"yaml_lines": yaml_lines(pod) if pod else [], "bound_to": bound, "recorded": message, "claims": claims}
    return found | {"versions": cluster_remarks(run.scenario.kubernetes, run.release)}


def yaml_lines(obj: dict[str, Any]) -> list[dict[str, str]]:
    """Return the lines of the object, each with the plugins that read its field."""
    lines, plugins, depth = [], "", -1
    for text in to_yaml(obj).splitlines():
        indent = len(text) - len(text.lstrip(" -"))
        if depth >= 0 and indent <= depth:
            plugins, depth = "", -1
        key = text.strip().removeprefix("- ").partition(":")[0]
        if depth < 0 and key in READ_BY:
            plugins, depth = READ_BY[key], indent
        lines.append({"text": text, "plugins": plugins})
    return lines


def given_devices(run: Run, row: Cycle, pod: dict[str, Any], came_to: Attempt) -> list[tuple[str, str]]:
    """Return (claim, allocated devices) for a placed pod, including claims that were allocated earlier."""
    found = decode(pod)
    if TONES.get(came_to.result) not in ("ok", "live") or not isinstance(found, Pod):
        return []
    with suppress(NotRecorded, InputError):
        given = claims.allocated_after(run, row, PodInfo(found, get_release(run.release)))
        return [
            (f"claim {key}", ", ".join(f"{one.driver}/{one.pool}/{one.device} ({one.request})" for one in devices))
            for key, devices in given.items()
        ]
    return []


def neighbours(run: Run, result: PodResult | None) -> dict[str, Any]:
    """Return the previous and next pods of the run."""
    if result is None:
        return {}
    others = PodResult.objects.filter(run=run).only("namespace", "name")
    before = others.filter(position__lt=result.position).order_by("-position").first()
    return {"before": before, "after": others.filter(position__gt=result.position).order_by("position").first()}


def explained_of(run: Run, row: Cycle, trace: CycleTrace, last: bool) -> tuple[Answer, Answer]:
    """Return the answer about an attempt, and what the attempt itself found.

    They differ for the last one of a pod that has no node: its answer is about the end of the run, as on the run's
    page. What an attempt found comes from the trace alone if nothing was recorded.
    """
    stored = answers.answer_of_pod(run, row.namespace, row.name) if last else None
    if stored is None and not trace.placed_on:
        with suppress(NotRecorded, InputError):
            return (found := remedies.explained(run, row)), found
    found = explain(trace, names=row.nodes, rules=rules_of(run, trace.profile))
    return msgspec.convert(stored, Answer) if stored else found, found


def about_cycle(
    run: Run,
    row: Cycle,
    query: Mapping[str, str],
    page_bound: str,
    came_to: Attempt,
    events: Sequence[dict[str, Any]],
    last: bool,
) -> dict[str, Any]:
    """Return the answer and the panels of one attempt. `last`: whether it is the last one."""
    nodes, trace = row.nodes, trace_of(row)
    verdicts, preemption = matrix_of(trace, nodes), preemption_of(trace)
    headroom = headroom_of(run, row, trace)
    if headroom is not None:
        headroom.add_to(verdicts)
    (explained, found), links = explained_of(run, row, trace, last), CycleLinks(run, row)
    outcome, at_end = answer(found.sentence, trace.node, came_to), explained is not found
    old = get_release(run.release).predicates
    results = reached(trace, came_to.points)
    wanted = PANELS.get(query.get("point", ""), query.get("point", ""))
    listed = steps(results, OLD_POINTS if old else POINTS, trace.durations)
    page = {
        "trace": trace,
        "cycle_at": clock(trace.time),
        "tone": TONES.get(came_to.result, ""),
        "explained": explained,
        "says": explained.says if explained.station != SCHEDULER else [],  # its message is in the sidebar
        "at_end": at_end,
        "answer": explained.sentence if at_end else outcome,
        "followed": outcome if at_end and (trace.node or trace.group) else "",
        "fixes": pod_fixes.shown(run, row, msgspec.to_builtins(explained.fixes)),
        "links": links.of_answer(trace, explained, came_to),
        "old": old,
        "steps": listed,
        "point": wanted if wanted in {step.key for step in listed} else decisive_point(results),
        "plugin_shown": query.get("plugin", ""),
        "wanted_node": query.get("node", "")[:253],
        "notes": notes(run, verdicts, trace),
        "matrix": verdicts,
        "matrix_groups": verdicts.groups[:GROUPS_SHOWN],
        "hidden_groups": max(0, len(verdicts.groups) - GROUPS_SHOWN),
        "unseen": verdicts.nodes - verdicts.looked_at,
        "outside": trace.nodes - trace.there,
        "matrix_data": matrix_data(verdicts),
        "facts": facts(events, came_to),
        "there": there(run, trace, nodes, page_bound, links),
        "tie": cycle_rows.tie_rule(run),
        "quotas": quotas_address(row, trace, at_end),
        "asking": asking(trace, verdicts, nodes, old),
    }
    return page | about_preemption(run, trace, preemption, nodes) | about_scores(trace, nodes, query)


def quotas_address(row: Cycle, trace: CycleTrace, at_end: bool) -> str:
    """Return the address of the quotas if one of them rejects the pod in the cycle: before the cycle, or at the end of
    the run, as the answer; at the end, the victims of a nominated pod no longer use any."""
    if trace.prefilter is None or trace.prefilter.plugin != CapacityScheduling.name:
        return ""
    before = {} if at_end and not trace.nominated_node else {"cycle": row.number}
    query = urlencode(before | {"pod": f"{row.namespace}/{row.name}"})
    return f"{reverse('quotas', args=[row.run_id])}?{query}"


def about_preemption(
    run: Run, trace: CycleTrace, preemption: Preemption | None, nodes: Sequence[str]
) -> dict[str, Any]:
    """Return the result of PostFilter, with the priorities of possible victims from the run's scenario."""
    if preemption is None or trace.postfilter is None:
        return {"preemption": None, "candidates": []}
    victims = {pod for one in preemption.candidates for pod in one.victims}
    lines = stored_cluster.pods_of_scenario(run.scenario, victims) if victims else {}
    priorities = {key: line.priority for key, line in lines.items()}
    context = {"preemption": preemption, "priorities": priorities, "candidates": in_order(preemption, priorities)}
    return context | {"rejected": rejected_nodes(trace, nodes), "preemptor": trace.postfilter.plugin}


def asking(trace: CycleTrace, verdicts: Matrix, nodes: Sequence[str], old: bool) -> dict[str, Any]:
    """Return the plugins per extension point for which provenance is available, the default node, and the node that
    Reserve and Permit handled. `old`: whether the release has no scheduling framework."""
    scored = [plugin for plugin in trace.scores if not plugin.startswith(EXTENDER)]
    points: dict[str, list[str]] = {}
    if trace.prefilter is not None and trace.prefilter.plugin:
        points["filter"] = [trace.prefilter.plugin]
    elif trace.prefilter is None and verdicts.nodes:
        points["filter"] = [plugin for plugin in verdicts.plugins if plugin != EXTENDER]
    if scored:
        points |= dict.fromkeys(("raw", "normalized", "weighted"), scored) | {"total": []}
    if trace.postfilter is not None and not old:
        points["preemption"] = [trace.postfilter.plugin]
    for point in ("preenqueue", "reserve", "permit"):
        status, plugins = rejection_at(trace, point), [*trace.permit_waits] if point == "permit" else []
        if plugins := list(dict.fromkeys([*plugins, *([status.plugin] if status and status.plugin else [])])):
            points[point] = plugins
    first = nodes[0] if nodes else ""
    nominated = trace.postfilter.nominated_node if trace.postfilter is not None else ""
    return {"points": points, "node": trace.node or nominated or first, "chosen": trace.node or first}


def answer(sentence: str, node: str, came_to: Attempt) -> str:
    """Return the cycle's sentence and what followed the cycle. A pod is called placed only if it was bound."""
    if came_to.result in (attempts.BINDING, attempts.UNBOUND):
        sentence = sentence.replace(f"Placed on {node}", f"{node} was chosen", 1)
    if came_to.held and came_to.sentence:
        return f"{node} was chosen. {came_to.sentence}"
    return f"{sentence} {came_to.sentence}".rstrip()


def there(
    run: Run, trace: CycleTrace, nodes: list[str], node: str, links: CycleLinks
) -> tuple[str, list[SentenceLink]] | None:
    """Return this cycle's answer on the node that the real cluster had chosen, with its links."""
    if not node or node not in nodes:
        return None
    if node == trace.node:
        return "This run chose the same node.", []
    found = explain_node(trace, node, names=nodes, rules=rules_of(run, trace.profile))
    return f"In this run: {found.sentence}", links.of_node(found)


def notes(run: Run, verdicts: Matrix, trace: CycleTrace) -> dict[str, list[tuple[str, str]]]:
    """Return for each extension point its plugins with a description."""
    default = [name for name, _ in get_release(run.release).default_plugins]
    names = {
        "filter": [*verdicts.plugins, *verdicts.skipped],
        "score": [*trace.scores, *trace.skipped_score],
    }
    return {key: plugin_notes.notes_of(names.get(key, default), label) for key, label in POINTS.items()}


def facts(events: Sequence[dict[str, Any]], came_to: Attempt) -> dict[str, list[tuple[str, str]]]:
    """Return the recorded events of extension points without a panel, as (label, text)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for event in events:
        if event["type"] in ("reserve", "permit", "prebind", "bind", "postbind"):
            status = event["data"].get("status")
            by = f" by {status['plugin']}" if status and status["plugin"] else ""
            text = f"{status['code']}{by}" if status else "Success"
            rows = [("node", event["data"].get("node", "")), ("status", text)]
            found.setdefault(event["type"], []).extend(rows)
    return found | {point: [*found.get(point, []), *more] for point, more in came_to.facts.items()}


def matrix_data(verdicts: Matrix) -> dict[str, Any]:
    """Return the matrix for the node list: each row's cells once, with the nodes that share them."""
    return {
        "plugins": verdicts.plugins,
        "groups": [
            {
                "state": group.state,
                "plugin": group.plugin,
                "why": group.heading,
                "cells": [cell.kind for cell in group.cells],
                "nodes": group.nodes,
                "each": group.each,
            }
            for group in verdicts.groups
        ],
    }


def about_scores(trace: CycleTrace, nodes: Sequence[str], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the score table (filtered and paginated), the chart of the best nodes, and the comparison of two nodes."""
    places, rows = best_places(trace, nodes), trace.feasible_rows()
    if not places:
        return {"score_total": 0}
    sought = query.get("q", "").strip().lower()
    found = [(rank, i) for rank, i in enumerate(places, 1) if sought in nodes[int(rows[i])].lower()]
    page = Paginator(found, SCORES_SHOWN).get_page(query.get("page"))
    best = ranking(trace, nodes, BARS)
    return {
        "score_total": len(places),
        "score_head": best[0],
        "score_query": query.get("q", ""),
        "score_page": page,
        "score_rows": [(rank, ranked_at(trace, nodes, i)) for rank, i in page.object_list],
        "score_chart": charts.score_bars(best, trace.node),
        "duel": against(trace, nodes, query.get("node", "")),
        "query_fields": [(key, query[key]) for key in ("cycle", "attempt", "node") if query.get(key)],
    }
