"""Form fields that choose a pod, a pod group or a workload of a scenario from a list. Of many, the page searches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Q
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kubesched_ui.models import PodResult, Run, Scenario
from kubesched_ui.scenarios import stored_cluster
from kubesched_ui.scenarios.cluster_overview import RELEASE
from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.formatting import count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.pod_template import KINDS
from scheduler_core.errors import InputError
from scheduler_core.suggestions.group_waits import group_of

SHOWN = 200  # options of a list
SUGGESTED = 500
LATEST = 10  # runs among which the one to list the pending pods of is searched
MAX_KEY = 600  # characters: kind, namespace and name
POD_GROUP = "PodGroup"  # stands before the name of a group, as the kind stands before the name of a workload

Options = list[tuple[str, list[tuple[str, str]]]]


class SuggestingInput(forms.TextInput):
    """A text field with suggestions. `suggestions`: the form sets them."""

    suggestions: Iterable[str] = ()

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """Return the field and its list of suggestions."""
        listed = f"{(attrs or {}).get('id', name)}-suggestions"
        field = super().render(name, value, {**(attrs or {}), "list": listed}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((one,) for one in self.suggestions))
        return format_html('{}<datalist id="{}">{}</datalist>', field, listed, options)


@dataclass
class PodChoice:
    """What a list offers: `options` in groups, each with its title. `total`: how many match `find`, the searched text;
    at most SHOWN are options. `run`: the run that left the pods pending, None if the scenario says so. `pods`: all
    pending pods, whether they match or not."""

    options: Options
    total: int
    find: str = ""
    run: Run | None = None
    pods: frozenset[str] = frozenset()

    @property
    def first(self) -> str:
        """The value of the first option; "" if there is none."""
        return next((value for _, group in self.options for value, _ in group), "")

    @property
    def searched(self) -> bool:
        """Whether the page shows the search."""
        return bool(self.find) or self.total > SHOWN

    @property
    def remark(self) -> str:
        """How many options are shown, if not all."""
        shown = sum(len(group) for _, group in self.options)
        return (
            f"{shown:,} of {self.total:,} are listed" if self.total > shown else count(self.total, "match", "matches")
        )

    def field(self, value: Any) -> forms.CharField:
        """Return the form field. `value`: what is chosen; it is listed in any case."""
        options: list[Any] = [(title, group) for title, group in self.options if group]
        if value and all(value != one for _, group in options for one, _ in group):
            options.insert(0, (value, value))
        return forms.CharField(required=False, max_length=MAX_KEY, widget=forms.Select(choices=options))


def pending_pods(scenario: Scenario, find: str, run_id: Any = None) -> PodChoice:
    """Return the pods without a node, and their pod groups: those that a run left pending, by default the latest run
    of all pending pods; without such a run, those of the scenario."""
    run = _run_of(scenario, run_id)
    if run is not None:
        rows = PodResult.objects.filter(run=run).exclude(result=PodResult.Result.SCHEDULED).order_by("position")
        states = {f"{row.namespace}/{row.name}": row.result for row in rows.only("namespace", "name", "result")}
    else:
        view = stored_cluster.cluster_of_scenario(scenario)
        states = {pod.key: pod.state for pod in view.pods_where(lambda pod: pod.state in ("pending", "gated"))}
    found = [key for key in states if find.lower() in key.lower()]
    listed = [(key, f"{key} (gated)" if states[key] == "gated" else key) for key in found[:SHOWN]]
    groups = [(f"{POD_GROUP} {key}", key) for key in _groups_of(scenario, list(states)[:SUGGESTED])]
    groups = [one for one in groups if find.lower() in one[0].lower()]
    options = [("Pending pods", listed), ("All pending pods of a group", groups)]
    return PodChoice(options, len(found) + len(groups), find, run, frozenset(states))


def _run_of(scenario: Scenario, run_id: Any) -> Run | None:
    """Return the run with this number, otherwise the latest one in which all pending pods, and no others, were tried in
    a single pass."""
    runs = Run.objects.filter(scenario=scenario)
    if str(run_id or "").isdecimal():
        return runs.filter(pk=min(int(str(run_id)[:19]), 2**63 - 1)).first()
    done = runs.filter(state=Run.State.DONE, in_time=False, fork_at=None, pods__isnull=True, unbind=[], template="")
    latest = done.order_by("-pk").defer("node_names")[:LATEST]
    return next((run for run in latest if not run.imported), None)


def _groups_of(scenario: Scenario, keys: Iterable[str]) -> list[str]:
    """Return the pod groups of stored pods, as namespace/name."""
    names: dict[str, list[str]] = {}
    for key in keys:
        namespace, _, name = key.partition("/")
        names.setdefault(namespace, []).append(name)
    wanted = Q()
    for namespace, of in names.items():
        wanted |= Q(namespace=namespace, name__in=of)
    if not wanted:
        return []
    rows = scenario.cluster_objects.filter(wanted, kind="Pod").values_list("data", flat=True)
    try:
        pods = [one for one in decode_all(list(rows)) if isinstance(one, Pod)]
    except InputError:  # the scenario is checked when it is used
        return []
    return sorted({group for pod in pods if (group := group_of(PodInfo(pod, RELEASE)))})


def workloads_and_pods(scenario: Scenario, find: str) -> PodChoice:
    """Return the workloads, as `Deployment namespace/name`, and the pods, as namespace/name."""
    kinds = [kind for kind in KINDS if kind != "DaemonSet"]
    workloads = _matching(scenario, find, kind__in=kinds)
    rows = workloads.values_list("kind", "namespace", "name")[:SHOWN]
    named = [f"{kind} {namespace or 'default'}/{name}" for kind, namespace, name in rows]
    pods = _matching(scenario, find, kind="Pod")
    keys = pods.values_list("namespace", "name")[: SHOWN - len(named)]
    listed = [f"{namespace or 'default'}/{name}" for namespace, name in keys]
    options = [("Workloads", [(one, one) for one in named]), ("Pods", [(one, one) for one in listed])]
    return PodChoice(options, workloads.count() + pods.count(), find)


def _matching(scenario: Scenario, find: str, **kinds: Any) -> Any:
    rows = scenario.cluster_objects.filter(**kinds).order_by("namespace", "name")
    namespace, slash, name = find.rpartition(" ")[2].partition("/")
    if slash:
        return rows.filter(namespace__iendswith=namespace, name__istartswith=name)
    return rows.filter(Q(name__icontains=namespace) | Q(namespace__icontains=namespace)) if find else rows


def has(scenario: Scenario, key: str) -> bool:
    """Return whether the scenario has the workload `Deployment namespace/name`, or the pod namespace/name."""
    kind, _, rest = key.rpartition(" ")
    namespace, _, name = rest.partition("/")
    namespaces = [namespace, ""] if namespace == "default" else [namespace]
    return bool(scenario.cluster_objects.filter(kind=kind or "Pod", namespace__in=namespaces, name=name).exists())
