"""Comparison of two runs, and the views that create one: two selected runs, two settings of a scenario, a fork."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Run
from kubesched_ui.offload.pool import PoolBusy
from kubesched_ui.presenters import charts
from kubesched_ui.queries import comparisons, distributions
from kubesched_ui.queries import what_if as questions
from kubesched_ui.queries.comparisons import comparison_of
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import fork_create, scoring, suggested_comparisons
from kubesched_ui.scenarios.cluster_overview import ZONES
from kubesched_ui.views import compare_maps, run_context
from kubesched_ui.views.errors import readable
from kubesched_ui.views.form_fields import name_in
from kubesched_ui.views.pod_context import explained_of
from kubesched_ui.views.runs import find
from kubesched_ui.views.scenarios import find as find_scenario
from scheduler_core.cluster.formatting import amount
from scheduler_core.cluster.nodes import ZONE
from scheduler_core.compare.comparison import CHANGES, OTHER, SAME, Comparison, PodComparison
from scheduler_core.compare.steps import WORDS
from scheduler_core.errors import InputError
from scheduler_core.forks import actions
from scheduler_core.metrics.groups import POOLS

ROWS = 100
SHOWN = 50  # maximum number of settings and objects
LABELS = 40
MAX_GROUPS = 50  # of nodes, by one label
# Labels by which nodes are grouped by default, best first, as on the map (static/js/map/grouping.js).
GROUPINGS = (*ZONES, *POOLS)
NO_OWNER, ALIKE, UNKNOWN, ONE_TRIED = "no owner", "no difference", "not compared", "scheduled in one run at most"

SORTS: dict[str, Callable[[PodComparison], Any]] = {
    "pod": lambda pod: pod.name,
    "change": lambda pod: CHANGES.index(pod.change),
    "a": lambda pod: (pod.a.node or pod.a.result) if pod.a else "",
    "b": lambda pod: (pod.b.node or pod.b.result) if pod.b else "",
    "owner": lambda pod: pod.owner,
    "cause": lambda pod: cause_of(pod),
    "cycle": lambda pod: pod.b.cycle if pod.b else 0,
}


@require_GET
@readable
def compare(request: HttpRequest, a: int, b: int) -> HttpResponse:
    """Show the comparison of two runs: their differences, the pods, and for one pod every plugin."""
    runs = find(a), find(b)
    context: dict[str, Any] = {"a": runs[0], "b": runs[1], "runs": runs}
    if waiting := [run for run in runs if run.active]:
        context["waiting"] = [(run, run_context.progress(run)) for run in waiting]
        return render(request, "compare.html", context)
    try:
        comparison = comparison_of(*runs)
    except NotRecorded as problem:
        return render(request, "compare.html", context | {"problem": str(problem)})
    context |= summarized(comparison) | listed(runs, comparison, request) | {"changes_of_forks": fork_changes(runs)}
    if compare_maps.related(*runs):  # the changes of the fork say what differs
        context |= {"objects": [], "more_objects": 0}
    if any(run.cycles_done for run in runs):
        shared = any(pod.a and pod.b for pod in comparison.pods.values())
        context["maps"] = compare_maps.maps(request.GET.get("together", ""), *runs, shared)
    if context.get("chosen") and request.GET.get("which"):
        context |= caused(runs, context["chosen"].name)
    return render(request, "compare.html", context)


@require_GET
@readable
def chart(request: HttpRequest, a: int, b: int) -> HttpResponse:
    """Return how full the nodes of both runs are, as JSON; the comparison loads it when it becomes visible."""
    try:
        return JsonResponse(distributions.compared(find(a), find(b)))
    except NotRecorded as error:
        raise Http404(str(error)) from None


def caused(runs: tuple[Run, Run], pod: str) -> dict[str, Any]:
    """Return the differences that cause a pod's outcome, or why they are unknown."""
    try:
        return {"did": comparisons.cause(*runs, pod)}
    except PoolBusy:
        return {"nothing_did": "The server is busy. Reload in a few seconds."}
    except (InputError, NotRecorded) as problem:
        return {"nothing_did": str(problem)}


def summarized(comparison: Comparison) -> dict[str, Any]:
    """Return the summary of a comparison."""
    objects, more = comparison.objects
    numbers = figures(comparison)
    settings = [found for found in comparison.settings if not found["path"].startswith("changes[")]
    return {
        "sentence": comparison.sentence,
        "settings": [texts(found) for found in settings[:SHOWN]],
        "more_settings": max(0, len(settings) - SHOWN),
        "objects": [object_texts(found) for found in objects[:SHOWN]],
        "more_objects": max(0, len(objects) - SHOWN) + more,
        "figures": [found for found in numbers if found[3]],
        "equal_figures": [found for found in numbers if not found[3]],
        "parting": comparison.divergence and texts(comparison.divergence),
    }


def texts(found: dict[str, Any]) -> dict[str, Any]:
    """Return the difference with both sides as display text."""
    return found | {side: text_of(found.get(side)) for side in ("a", "b")}


def object_texts(found: dict[str, Any]) -> dict[str, Any]:
    """Return the difference as display text. An object that only one run has is not shown in full."""
    if found["path"]:
        return texts(found)
    return found | {side: "none" if found[side] is None else "exists" for side in ("a", "b")}


def fork_changes(runs: Sequence[Run]) -> list[list[str]]:
    """Return, for each run, the titles of the changes of its forks that the other one does not have."""
    titles = []
    for run in runs:
        changes = [change for stage in run.stages for change in stage["changes"]]
        titles.append([actions.title_of([change]) for change in changes])
    common = set(titles[0]) & set(titles[1])
    return [[title for title in found if title not in common][:SHOWN] for found in titles]


def text_of(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def figures(comparison: Comparison) -> list[tuple[str, str, str, bool]]:
    """Return (name, value of a, value of b, whether these texts differ) for each metric that is not zero in both."""
    found = comparison.metrics
    rows: list[tuple[str, list[Any], str]] = [
        ("Nodes with a pod", found["nodes_used"], ""),
        ("Pods without a node", found["pending"], ""),
        ("Preempted pods", found["victims"], ""),
    ]
    for resource, shares in found["requested_share"].items():
        rows += [(f"{resource}: {name}", shares[key], "%") for key, name in SHARES.items()]
        if resource in found["stranded"]:
            rows.append((f"{resource}: stranded", found["stranded"][resource], resource))
    shown = [row for row in rows if any(row[1])]
    texts = [(name, *(_figure(value, unit) for value in pair)) for name, pair, unit in shown]
    return [(name, a, b, a != b) for name, a, b in texts]


SHARES = {"mean": "requested, mean", "stddev": "requested, spread", "max": "requested, fullest node"}


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.1f}%" if unit == "%" else amount(unit, int(value)) if unit else f"{value:,}"


def cause_of(pod: PodComparison) -> str:
    """Return a short text for the first difference of a pod. Pods are grouped by it."""
    if pod.first is None and pod.change not in (SAME, OTHER) and pod.known:
        return ONE_TRIED
    if pod.first is None:
        return ALIKE if pod.known else UNKNOWN
    wording = "(wording)" if pod.first["kind"] == WORDS else ""
    return " ".join(filter(None, (pod.first["point"], pod.first["plugin"], wording)))


def listed(runs: Sequence[Run], comparison: Comparison, request: HttpRequest) -> dict[str, Any]:
    """Return the pods that the query selects, their groups, and the steps of the chosen pod."""
    names = ("q", "change", "owner", "cause", "sort", "group", "by", "pod")
    params = {key: request.GET.get(key, "").replace("\0", "")[:600] for key in names}
    comparison.look_at_most()
    pods = [pod for pod in comparison.pods.values() if matches(pod, params)]
    key = params["sort"].removeprefix("-")
    if key in SORTS:
        pods.sort(key=SORTS[key], reverse=params["sort"].startswith("-"))
    else:
        pods.sort(key=lambda pod: pod.rank)
    page = Paginator(pods, ROWS).get_page(request.GET.get("page"))
    comparison.look([pod.name for pod in page.object_list])
    labels = labels_of(comparison)
    label = params["by"] or next((key for key in GROUPINGS if key in labels), ZONE)
    drawn = comparison.flows(label)
    found: dict[str, Any] = {
        **params,
        "page": page,
        "rows": [(pod, cause_of(pod), pod.first and texts(pod.first)) for pod in page.object_list],
        "changes": [("all", "All"), *((change, comparison.summary[change]) for change in CHANGES)],
        "groupings": [("owner", "By owner"), ("cause", "By first difference")],
        "groups": groups(pods, params["group"]),
        "grouped_by": "Owner" if params["group"] == "owner" else "First difference",
        "flows": drawn[:LABELS],
        "picture": charts.picture(drawn),
        "by": label,
        "labels": sorted({label, *labels}),
        "kept": [(key, params[key]) for key in ("owner", "cause", "sort", "by", "pod") if params[key]],
        "unknown": sum(not pod.known for pod in comparison.pods.values()),
    }
    return found | one(runs, comparison, params["pod"])


def sentences(runs: Sequence[Run], pod: PodComparison) -> list[tuple[str, str]]:
    """Return (letter, why the pod has its node or none at the end), as on the pod's page, of each run that tried it."""
    found = []
    for letter, run, outcome in zip("AB", runs, (pod.a, pod.b), strict=True):
        row = run.cycles.filter(number=outcome.cycle).first() if outcome is not None and outcome.cycle else None
        if row is not None:
            row.run = run
            found.append((letter, explained_of(run, row, trace_of(row), last=True)[0].sentence))
    return found


def matches(pod: PodComparison, params: dict[str, str]) -> bool:
    """Whether the filters select a pod. Unchanged pods are selected only by a filter on change or text."""
    if params["change"] and params["change"] != "all" and pod.change != params["change"]:
        return False
    if not params["change"] and pod.change == SAME and not params["q"]:
        return False
    if params["owner"] and (pod.owner or NO_OWNER) != params["owner"]:
        return False
    if params["cause"] and cause_of(pod) != params["cause"]:
        return False
    text = params["q"].lower()
    places = (outcome.node for outcome in (pod.a, pod.b) if outcome)
    return not text or text in pod.name.lower() or any(text in node.lower() for node in places)


def groups(pods: Sequence[PodComparison], by: str) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """Return (group, pods, [(change, pods)]) by owner or by cause, largest first."""
    if by not in ("owner", "cause"):
        return []
    counted: dict[str, Counter[str]] = {}
    for pod in pods:
        counted.setdefault((pod.owner or NO_OWNER) if by == "owner" else cause_of(pod), Counter())[pod.change] += 1
    rows = [(name, sum(of.values()), of.most_common()) for name, of in counted.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:ROWS]


def labels_of(comparison: Comparison) -> list[str]:
    """Return the labels that split the nodes into groups, but not into more than MAX_GROUPS."""
    distinct = comparison.b.recording.tables["nodes"].distinct("labels")[:2000]
    keys = dict.fromkeys(key for labels in distinct for key in labels)
    groups = {key: {labels.get(key) for labels in distinct} for key in keys}
    return sorted(key for key, found in groups.items() if 2 <= len(found) <= MAX_GROUPS)[:LABELS]


def one(runs: Sequence[Run], comparison: Comparison, name: str) -> dict[str, Any]:
    """Return both cycles of a pod, plugin by plugin."""
    if name not in comparison.pods:
        return {"missing": name} if name else {}
    comparison.look([name])
    pod = comparison.pods[name]
    steps = [{**step, "example": step["example"] and texts(step["example"])} for step in comparison.steps(name)]
    differing = sum(not step["same"] for step in steps)
    return {
        "chosen": pod,
        "sentences": sentences(runs, pod),
        "steps": steps,
        "differing": differing,
        "equal_steps": len(steps) - differing,
        "first": pod.first and texts(pod.first),
    }


# ---- views that lead to a comparison


@require_GET
def choose(request: HttpRequest) -> HttpResponse:
    """Redirect to the comparison of two selected runs (`run=1&run=2`), older run first."""
    numbers = sorted({int(text) for text in request.GET.getlist("run") if text.isdecimal() and len(text) < 19})
    if len(numbers) != 2:
        messages.error(request, f"Select two runs to compare; {len(numbers) or 'none'} selected.")
        return redirect(came_from(request) or "runs")
    return redirect("compare", *numbers)


@require_POST
def pair(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Redirect to two runs of a scenario that differ in one setting. Start them if they do not exist."""
    scenario = find_scenario(scenario_id)
    try:
        with transaction.atomic():
            a, b = suggested_comparisons.runs_of(scenario, request.POST)
    except InputError as error:
        messages.error(request, str(error))
        return redirect("scenario", scenario_id)
    return redirect("compare", a.pk, b.pk)


@require_POST
def fork(request: HttpRequest, run_id: int) -> HttpResponse:
    """Fork a run from a form (`at` or `t`, `changes` and `settings` as JSON, `name`) and redirect to the comparison."""
    parent = find(run_id)
    try:
        made = forked(parent, request)
    except InputError as error:
        messages.error(request, f"The run was not forked. {error}")
        return redirect(came_from(request) or reverse("run", args=[run_id]))
    return redirect_to_comparison(parent, made, request.POST.get("pod", "")[:600])


@require_http_methods(["GET", "HEAD", "POST"])
@readable
def what_if(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show what can be done with a node or pod (`kind`, `namespace`, `name`, at `from`); POST does it in a fork."""
    parent = find(run_id)
    query = request.POST if request.method == "POST" else request.GET
    kind, namespace, name, beginning = (
        query.get(key, "").replace("\0", "")[:600] for key in ("kind", "namespace", "name", "from")
    )
    context = {"run": parent, "kind": kind, "namespace": namespace, "name": name}
    try:
        subject = questions.subject_of(parent, kind, namespace, name, beginning)
        if request.method != "POST":
            return render(request, "what_if.html", context | questions.options(parent, subject))
        action = questions.action_of(parent, subject, request.POST)
        with transaction.atomic():
            start, named = subject.beginning, fork_create.named_by_change(parent, action.title)
            made = fork_create.create_fork(parent, start.at, start.t, action.changes, {}, named)
    except (InputError, NotRecorded) as problem:
        context["problem"] = str(problem).rstrip(".")
        return render(request, "what_if.html", context, status=400)
    return redirect_to_comparison(parent, made, subject.key if kind == "Pod" else "")


def redirect_to_comparison(parent: Run, made: Run, pod: str) -> HttpResponse:
    """Redirect to the comparison of a fork with its parent, with a pod selected if one is named."""
    address = reverse("compare", args=[parent.pk, made.pk])
    return redirect(f"{address}?{urlencode({'pod': pod})}" if pod else address)


def forked(parent: Run, request: HttpRequest) -> Run:
    """Create the fork that a form requests. Raises InputError."""
    at, t = number_in(request, "at"), number_in(request, "t")
    changes, settings = json_in(request, "changes", "[]"), json_in(request, "settings", "{}")
    if at is not None and not at.is_integer():
        raise InputError("Fork", "at", f"must be a whole number, got {at:g}")
    if not isinstance(settings, dict):
        raise InputError("Fork", "settings", "must be a JSON object")
    chosen = scoring.scoring_in(request.POST)
    if chosen != scoring.Scoring():
        config, release = (settings.get(name, getattr(parent, name)) for name in ("config", "release"))
        settings["config"] = scoring.scored(str(config), str(release), chosen)
    with transaction.atomic():
        return fork_create.create_fork(parent, None if at is None else int(at), t, changes, settings, name_in(request))


def came_from(request: HttpRequest) -> str:
    """Return the page of this site that sent the form, or "" if unknown."""
    back = request.headers.get("Referer", "")
    return back if url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()) else ""


def number_in(request: HttpRequest, field: str) -> float | None:
    """Return a number of the form, or None if the field is empty. Raises InputError."""
    text = request.POST.get(field, "").strip()
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        raise InputError("Fork", field, f"must be a number, got {text[:40]!r}") from None
    if not abs(found) < 1e15:
        raise InputError("Fork", field, f"must be a number, got {text[:40]!r}")
    return found


def json_in(request: HttpRequest, field: str, default: str) -> Any:
    """Return a JSON value of the form. Raises InputError."""
    text = request.POST.get(field, "").strip() or default
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise InputError("Fork", field, f"is not JSON: {problem}") from None
