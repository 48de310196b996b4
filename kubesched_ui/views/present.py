"""Presentation mode of a run: large type, one slide at a time. The URL contains the whole state (docs/present.md)."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.exports import slides
from kubesched_ui.exports.slides import Slide
from kubesched_ui.models import Cycle, PodResult, Run
from kubesched_ui.presenters import charts, pod_timeline
from kubesched_ui.presenters.cycle_stages import stages_of
from kubesched_ui.presenters.events_at import causes_of
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from kubesched_ui.scenarios import cluster_overview
from kubesched_ui.scenarios.cluster_columns import view_at
from kubesched_ui.views import pod_context, run_context
from kubesched_ui.views.errors import readable
from kubesched_ui.views.form_fields import to_number
from kubesched_ui.views.runs import find
from scheduler_core.errors import InputError
from scheduler_core.explain.points import rejection_at
from scheduler_core.explain.scores import ranking
from scheduler_core.framework.interface import MAX_NODE_SCORE
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.search.cycle_steps import steps

GROUPS, PODS_SHOWN = 6, 12  # maximum numbers per slide
NOTE = 130  # maximum length of a plugin's description
TITLES = {
    "nodes": "The cluster before the pod is scheduled",
    "fits": "Feasible nodes",
    "victims": "Victims",
    "total": "Total scores",
    "result": "The decision",
}
# Plugin sets of YAML lines that the slide leaves out: requests are shown separately, and images rarely matter.
PLAIN = {"ImageLocality", "NodeResourcesFit NodeResourcesBalancedAllocation"}


@require_GET
@readable
def present(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show one slide: of the run (its beginning or its end) or of a cycle."""
    run, query = find(run_id), request.GET
    hide = query.get("hide") == "1"
    cycle = to_number(query.get("cycle", ""))
    if not cycle or not run.cycles_done:
        context = whole(run, query.get("point") == "end", hide)
    else:
        row = run.cycles.filter(number=cycle).first()
        if row is None:
            raise Http404(f"Run {run_id} has no cycle {cycle:,}.")
        context = of_cycle(run, row, query, hide)
    context |= {"toggled": f"?{urlencode({**here(context), **({} if hide else {'hide': 1})})}"}
    return render(request, "present.html", {"run": run, "hide": hide, "first": start_of(hide), **context})


def here(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query parameters of the shown slide, without `hide`."""
    slide: Slide = context["slide"]
    found = {"cycle": context.get("number", ""), "point": slide.point, "plugin": slide.plugin}
    return {key: value for key, value in found.items() if value}


def address(cycle: int, slide: Slide | str, hide: bool) -> str:
    """Return the address of a slide of a cycle."""
    slide = slide if isinstance(slide, Slide) else Slide(slide)
    query = {"cycle": cycle, "point": slide.point} | ({"plugin": slide.plugin} if slide.plugin else {})
    return f"?{urlencode(query)}{'&hide=1' if hide else ''}"


def start_of(hide: bool) -> str:
    """Return the address of the slide before the first cycle."""
    return "?hide=1" if hide else "?"


def end_of(hide: bool) -> str:
    """Return the address of the slide after the last cycle."""
    return f"?point=end{'&hide=1' if hide else ''}"


def whole(run: Run, end: bool, hide: bool) -> dict[str, Any]:
    """Return the slides about the run itself: before its first cycle or after its last."""
    last = run.cycles_done
    context: dict[str, Any] = {"last": end_of(hide), "leave": reverse("run", args=[run.pk])}
    if end and last:
        pods = PodResult.objects.filter(run=run).order_by("position").defer("reasons")[:PODS_SHOWN]
        context |= {
            "counts": run_context.outcome_counts(run.pod_results.outcomes()),
            "pods": pods,
            "before": address(last, "result", hide),
        }
        return context | {"slide": Slide("end"), "title": "So far" if run.active else "Final outcome"}
    context |= {"scheduler": run_context.scheduler_of(run), "nodes": run.scenario.counts.get("Node", 0)}
    context |= {"after": address(1, "pod", hide) if last else ""}
    return context | {"slide": Slide("begin"), "title": run.scenario.name}


def of_cycle(run: Run, row: Cycle, query: Mapping[str, str], hide: bool) -> dict[str, Any]:
    """Return a slide of a cycle with its navigation."""
    page = pod_context.context(run, row.namespace, row.name, {"cycle": str(row.number)})
    assert page is not None, "cycle needs a pod"
    state = state_of(run, row)
    trace, verdicts = page["trace"], page["matrix"]
    found = slides.of_cycle(trace, verdicts, page["preemption"], hide, state is not None)
    at = slides.at(found, query.get("point", ""), query.get("plugin", ""))
    slide, number = found[at], row.number
    context: dict[str, Any] = {"slide": slide, "number": number, "page": page, "name": row.name}
    context |= {"title": title_of(slide, row), "last": end_of(hide)}
    context |= ways(run, number, found, at, hide)
    shown = found[: at + 1] if hide else found
    context["rail"] = [(one, address(number, one, hide), one is slide) for one in shown]
    view = view_at(state) if state is not None else None
    asks = view.requests_of(f"{row.namespace}/{row.name}") if view is not None else {}
    context["leave"] = f"{reverse('pod', args=[run.pk, row.namespace, row.name])}?cycle={number}"
    if view is not None and slide.point not in slides.WITHOUT_NODES:
        count = slides.steps_until(list(steps(trace)), found, at)
        cluster = f"/api/runs/{run.pk}/map?cycle={number}"
        context["stages"] = {"address": cluster, **stages_of(f"{row.namespace}/{row.name}", trace, row.nodes, count)}
    return context | content(run, row, page, found, at, asks)


def ways(run: Run, number: int, found: Sequence[Slide], at: int, hide: bool) -> dict[str, str]:
    """Return the addresses for the navigation keys: previous and next slide, previous and next cycle."""
    first, last = number <= 1, number >= run.cycles_done
    before = start_of(hide) if first else address(number - 1, "result", hide)
    after = end_of(hide) if last else address(number + 1, "pod", hide)
    return {
        "before": address(number, found[at - 1], hide) if at else before,
        "after": address(number, found[at + 1], hide) if at + 1 < len(found) else after,
        "cycle_before": "" if first else address(number - 1, "pod", hide),
        "cycle_after": "" if last else address(number + 1, "pod", hide),
    }


def state_of(run: Run, row: Cycle) -> StateAtTimepoint | None:
    """Return the cluster before the cycle, or None if it was not recorded."""
    with suppress(NotRecorded, InputError):
        recording = recording_of(run)
        return StateAtTimepoint(recording, recording.before_cycle(row.number))
    return None


def title_of(slide: Slide, row: Cycle) -> str:
    """Return the title of a slide. It does not reveal later slides."""
    match slide.point:
        case "pod":
            return row.name
        case "guess":
            return slides.GUESSES[slide.plugin]
        case "filter" | "score":
            return slide.plugin
        case "preenqueue":
            return "PreEnqueue rejects the pod"
        case "prefilter":
            return "PreFilter rejects the pod"
        case "candidates":
            return "Would preemption help?"
    return TITLES[slide.point]


def content(
    run: Run, row: Cycle, page: Mapping[str, Any], found: Sequence[Slide], at: int, asks: Mapping[str, int]
) -> dict[str, Any]:
    """Return the content of a slide apart from the cluster."""
    slide, verdicts = found[at], page["matrix"]
    match slide.point:
        case "pod":
            return about_pod(run, row, page, asks)
        case "filter":
            groups = slides.out_by(verdicts, slide.plugin)
            return about_plugin(page, "filter", slide.plugin) | {
                "groups": groups[:GROUPS],
                "more": max(0, len(groups) - GROUPS),
                "passed": slides.passed(found, at, verdicts),
            }
        case "fits":
            return {"passed": slides.passed(found, at, verdicts), "verdicts": verdicts}
        case "score":
            best = 10 if page["old"] else MAX_NODE_SCORE
            return about_plugin(page, "score", slide.plugin) | {
                "scores": slides.scores(page["trace"], row.nodes, slide.plugin, best),
                "scored": len(page["trace"].feasible_rows()),
            }
        case "total":
            best_nodes = ranking(page["trace"], row.nodes, pod_context.BARS, undecided=True)
            return {"score_chart": charts.score_bars(best_nodes)}
        case "candidates" | "victims":
            keys = "preemption", "candidates", "rejected", "priorities"
            return {key: page[key] for key in keys} | {"chosen": next(iter(page["candidates"]), None)}
        case "preenqueue" | "prefilter":
            return {"status": rejection_at(page["trace"], slide.point)}
    return {}


def about_plugin(page: Mapping[str, Any], point: str, plugin: str) -> dict[str, Any]:
    """Return a plugin's description, and the lines of the pod's YAML that it reads."""
    note = next((text for name, text in page["notes"][point] if name == plugin), "")
    lines = [line["text"] for line in page["yaml_lines"] if plugin in line["plugins"].split()]
    return {"note": in_short(note), "lines": dedented(lines)}


def in_short(note: str) -> str:
    """Return the first clause of a description, or "" if it is too long."""
    first = re.split(r"\. |: |; ", note)[0].rstrip(".")
    return f"{first[:1].upper()}{first[1:]}." if first and len(first) <= NOTE else ""


def about_pod(run: Run, row: Cycle, page: Mapping[str, Any], asks: Mapping[str, int]) -> dict[str, Any]:
    """Return the pod's requests and, in virtual time, the reason for this attempt."""
    lines = [line["text"] for line in page["yaml_lines"] if line["plugins"] and line["plugins"] not in PLAIN]
    group = page.get("group") or {}
    return {
        "asks": cluster_overview.requests_text(dict(asks)) if asks else "",
        "lines": dedented(lines),
        "tried": tried(run, row, page),
        "group_name": group.get("name") or group.get("own_name") or "",
    }


def tried(run: Run, row: Cycle, page: Mapping[str, Any]) -> str:
    """Return the attempt, with its time and its cause in virtual time."""
    if not run.in_time:
        return f"Attempt {row.attempt}" if len(page["strip"]["entries"]) > 1 else ""
    why = because(run, row)
    return f"Attempt {row.attempt} at {page['cycle_at']}{f': {why}' if why else ''}"


def because(run: Run, row: Cycle) -> str:
    """Return what moved the pod to the active queue, or "" if unknown."""
    mine = Cycle.objects.filter(run=run, namespace=row.namespace, name=row.name, number__lt=row.number)
    cause, left = 0, mine.count()
    for event in pod_timeline.events_of(run, f"{row.namespace}/{row.name}"):
        if event["type"] == "cycle.started":
            if not left:
                break
            cause, left = 0, left - 1
        elif event["type"] == "queue.moved":
            cause = event["data"].get("cause", 0) or cause
    found = causes_of(run, {cause}).get(cause)
    return event_sentence(found) if found else ""


def dedented(lines: Sequence[str]) -> str:
    """Remove the common indentation of YAML lines."""
    depth = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return "\n".join(line[depth:] for line in lines[:16])
