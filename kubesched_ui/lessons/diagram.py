"""Data of the diagram next to a step: the cluster and the pod; after the step is revealed, also what the cycle
recorded."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons.feedback import leaf_value
from kubesched_ui.lessons.formatting import Seconds, shown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.object_flow import STAGES, walks
from kubesched_ui.lessons.parser import Focus
from kubesched_ui.lessons.runner import Attempted
from kubesched_ui.presenters.cycle_stages import stages_of
from kubesched_ui.scenarios.cluster_columns import view_at
from kubesched_ui.scenarios.cluster_overview import NodeLine
from scheduler_core.api.duration import seconds
from scheduler_core.cluster.formatting import amount
from scheduler_core.errors import InputError
from scheduler_core.explain.preemption import in_order, preemption_of, rejected_nodes
from scheduler_core.explain.scores import ranking
from scheduler_core.provenance.tree import Tree
from scheduler_core.recording.change_stream import cluster_columns
from scheduler_core.search.cycle_steps import steps
from scheduler_core.search.queue_times import PARTS, Move

MAX_LINES = 60  # maximum number of lines of a provenance tree
MAX_NODES = 24
MAX_MAP = 600  # nodes on the map: its data are part of the page, and of messages to a class
SCORES = 30  # scored nodes in the table
UNLISTED = {"cpu", "memory", "pods", "ephemeral-storage"}  # resources without a column of their own
HOSTNAME = "kubernetes.io/hostname"  # shown only if it is not the name of the node
IDENTITY = ("apiVersion", "kind", "metadata")
# Defaults set by the API server. They are left out of the pod's YAML.
DEFAULTS = {"restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
ADDED = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]


def given(facts: Facts) -> dict[str, Any]:
    """Return the cluster before the cycle in focus, the pod as written, and the planned events, without any outcome."""
    moment = _moment(facts)
    view = view_at(facts.run.state(moment))
    there = list(view.nodes.values())[:MAX_NODES]
    resources = ["cpu", "memory", *sorted({name for node in there for name in node.allocatable} - UNLISTED)]
    picture: dict[str, Any] = {
        "resources": resources,
        "nodes": [_node(facts, node, resources, moment) for node in there],
        "more": len(view.nodes) - len(there),
    }
    picture["release"] = facts.run.release_name
    picture["objects"] = other_objects(facts)
    if facts.focus.pod:
        key = facts.pod_key(facts.focus.pod)
        picture["pod"] = {"name": key.removeprefix("default/"), "yaml": pod_yaml(facts, key)}
    config = facts.run.settings.config or facts.run.given.config
    picture["config"] = to_yaml(config) if isinstance(config, dict) else config
    if facts.run.in_time:
        picture["t"] = shown(Seconds(facts.focused.t)) if facts.focus.pod and not _asks_when(facts) else ""
        picture["plan"] = plan(facts)
        picture["way"] = way(facts, facts.focused if facts.focus.pod else None)
    return picture


def _asks_when(facts: Facts) -> bool:
    return facts.focus.point == "queue"


def _moment(facts: Facts) -> int:
    """Return the timepoint before the cycle in focus. For a question about the queue, return that before the pod's
    previous cycle."""
    if _asks_when(facts) and facts.focus.pod:
        before = [one for one in facts.run.cycles if one.pod == facts.focused.pod and one.number < facts.focused.number]
        if before:
            return facts.run.before(before[-1].number)
    return facts.moment()


def stages(facts: Facts, shows_cycle: bool, whole: bool) -> dict[str, Any]:
    """Return the cluster of `given` for a map, and with `shows_cycle` the cycle in focus: all of it if `whole`, else
    up to the result in focus. Empty if the cluster has no nodes, or more than MAX_MAP."""
    picture = cluster_columns(facts.run.state(_moment(facts)))
    if not 0 < len(picture["nodes"]["name"]) <= MAX_MAP:
        return {}
    picture |= {"end": picture["moment"], "cycles": 0}  # a question may be about the length of the run
    pod, trace, names, shown = "", None, [], 0
    if facts.focus.pod:
        pod = facts.pod_key(facts.focus.pod)
        if shows_cycle and facts.focus.point not in ("", "queue", "walk"):
            cycle = facts.focused
            trace, names = cycle.trace, cycle.nodes
            shown = steps_until(list(steps(trace)), facts.focus, whole)
    return {"picture": picture, **stages_of(pod, trace, names, shown)}


def steps_until(cycle: Sequence[Mapping[str, str]], focus: Focus, whole: bool) -> int:
    """Return how many steps of a cycle a revealed step of the lesson may show."""
    if whole:
        return len(cycle)

    def shows(point: str, plugin: str, node: str) -> bool:
        match focus.point:
            case "filter":
                return point in ("preenqueue", "prefilter", "filter")
            case "postfilter":
                return point in ("prefilter", "filter") or (point == "postfilter" and bool(node))
            case "raw":  # the normalized scores are on the map
                return point in ("prefilter", "filter", "prescore")
            case "normalized" | "weighted":
                return point in ("prefilter", "filter", "prescore") or (point, plugin) == ("score", focus.plugin)
        return point in ("prefilter", "filter", "prescore", "score")

    return max((n for n, one in enumerate(cycle, 1) if shows(one["point"], one["plugin"], one["node"])), default=0)


def revealed(facts: Facts, whole: bool, later: Attempted | None) -> dict[str, Any]:
    """Return what the cycle in focus recorded at the extension point in focus.

    `whole`: whether its result may be shown, because no later step of the lesson asks about this cycle. `later`: the
    next attempt of the pod that a later step asks about.
    """
    focus = facts.focus
    if not focus.pod:
        return {}
    cycle = facts.focused
    picture: dict[str, Any] = {"point": focus.point, "cycle": cycle.number, "plugin": focus.plugin, "node": focus.node}
    trace = cycle.trace
    picture["exchanges"] = [
        one._replace(answered=to_yaml(one.answered))
        for one in facts.run.exchanges
        if one.pod == cycle.pod.partition("/")[2]
    ]
    if focus.point == "postfilter" and (preemption := preemption_of(trace)) is not None:
        picture["priorities"] = {
            pod: facts.info(pod).priority
            for node in facts.run.state(facts.moment()).nodes().values()
            for pod in node["pods"]
        }
        picture["preemption"], picture["decided"] = preemption, whole
        found = in_order(preemption, picture["priorities"])
        picture["candidates"] = found if whole else sorted(found, key=lambda one: one.node)  # the first one is chosen
        picture["rejected"] = rejected_nodes(trace, cycle.nodes)
    elif focus.point == "walk":
        picture |= {"walk": walks(facts), "stages": STAGES}
    elif focus.point == "queue":
        picture["way"] = way(facts, later)
    elif focus.point == "total" or (focus.point and focus.point != "filter" and whole):
        picture["scores"] = ranking(trace, cycle.nodes, SCORES)
        picture["scored"], picture["winner"] = len(trace.feasible_rows()), trace.node
    if tree := _tree(facts, cycle):
        picture["tree"] = {"text": tree.text, "lines": list(_lines(tree))[:MAX_LINES]}
    return picture


def _tree(facts: Facts, cycle: Attempted) -> Tree | None:
    focus = facts.focus
    with suppress(InputError, ValueError):
        if focus.point == "queue":
            times = facts.run.queue_times(cycle.pod)
            return times.explain(times.begin_of(cycle.seq))
        if focus.point == "total" or (focus.point in ("raw", "normalized", "weighted", "filter") and focus.plugin):
            return facts.tree(focus.point, focus.pod, focus.node, focus.plugin)
    return None


def _lines(tree: Tree, depth: int = 0) -> Any:
    """Yield the lines of a tree: depth, value, description and operation."""
    what = tree.label
    if tree.source is not None:
        place = f"{tree.source.kind} {tree.source.name} · {tree.source.path}"
        what = f"{what} ({place})" if what else place
    elif tree.op == "argument":
        what = f"{tree.path}{', its default' if tree.default else ''}"
    yield {"depth": depth, "value": leaf_value(tree), "what": what, "how": "" if tree.op == "field" else tree.op}
    for arg in tree.args or ():
        yield from _lines(arg, depth + 1)


def _node(facts: Facts, node: NodeLine, resources: Sequence[str], moment: int) -> dict[str, Any]:
    status = (facts.run.object_at("Node", node.name, moment) or {}).get("status") or {}
    return {
        "node": node,
        "uses": node.uses(resources),
        "labels": {key: value for key, value in node.labels.items() if (key, value) != (HOSTNAME, node.name)},
        "images": [
            f"{', '.join(one.get('names') or ())} · {one.get('sizeBytes', 0) / 10**6:,.0f} MB"
            for one in status.get("images") or ()
        ],
        "pods": [(pod, amount("cpu", pod.requests.get("cpu", 0)), facts.info(pod.key).labels) for pod in node.pods],
        "most_pods": node.allocatable.get("pods", 0),
    }


def other_objects(facts: Facts) -> list[dict[str, str]]:
    """Return the objects of the scenario that are neither nodes nor pods, as their author wrote them."""
    found = []
    for (kind, name), obj in facts.run.written_down.items():
        if kind not in ("Node", "Pod"):
            found.append({"name": f"{kind} {name}", "yaml": to_yaml(_content(obj)) if _content(obj) else ""})
    return found


def _content(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without its kind and name."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in ("name", "namespace")}
    rest = {key: value for key, value in obj.items() if key not in IDENTITY}
    return ({"metadata": metadata} if metadata else {}) | rest


def pod_yaml(facts: Facts, key: str) -> str:
    """Return the pod as its author wrote it, without default values, or as it was at that timepoint if no author wrote
    it."""
    found = facts.run.written_down.get(("Pod", key)) or facts.run.object_at("Pod", key, facts.moment())
    if not found:
        return ""
    metadata = {k: v for k, v in (found.get("metadata") or {}).items() if k in ("name", "labels", "annotations")}
    spec = {k: v for k, v in (found.get("spec") or {}).items() if DEFAULTS.get(k) != v}
    if tolerations := [one for one in spec.pop("tolerations", None) or [] if one not in ADDED]:
        spec["tolerations"] = tolerations
    return to_yaml({"metadata": metadata, "spec": spec})


def plan(facts: Facts) -> list[dict[str, str]]:
    """Return what the scenario does and when: sentences, and the YAML of what is created or changed."""
    time = facts.run.given.time
    lines = [
        {"text": _arrivals(one), "yaml": to_yaml(_content(one["template"]), flow=True)}
        for one in time.get("arrivals", ())
    ]
    lines += [{"text": text, "yaml": ""} for text in _bindings(time.get("binding") or {})]
    for event in facts.run.events:
        if event["type"] == "scenario.step":
            data = event["data"]
            taint = f", {data['taint']}" if data.get("taint") else ""
            entry = time["timeline"][data["step"] - 1]
            written = entry.get("create") or entry.get("update") or (entry.get("patch") or {}).get("patch")
            lines.append(
                {
                    "text": f"{shown(Seconds(event['t']))}: {data['operation']} {_about(data, event)}{taint}",
                    "yaml": to_yaml(_content(written), flow=True) if written else "",
                }
            )
    return lines


def _bindings(binding: dict[str, Any]) -> Iterator[str]:
    if binding.get("seconds"):
        yield f"each binding takes {shown(Seconds(seconds(binding['seconds'])))}"
    for failure in binding.get("failures") or ():
        what = "first binding" if failure.get("times", 1) == 1 else f"first {failure['times']} bindings"
        yield f"the {what} of {failure['pod'].removeprefix('default/')} {'fails' if what.endswith('g') else 'fail'}"


def _arrivals(one: dict[str, Any]) -> str:
    interval = f"every {one['every']}" if one.get("every") else f"every {one.get('mean')} on average"
    total = f", {one['count']} in total" if one.get("count") else ""
    return f"pods {one['name']}-0, {one['name']}-1 and so on: one {interval} from {one.get('start', 0)} s{total}"


def _about(data: dict[str, Any], event: dict[str, Any]) -> str:
    return str(data.get("object") or data.get("node") or event["pod"]).replace("default/", "")


def way(facts: Facts, until: Attempted | None) -> list[dict[str, str]]:
    """Return the pod's queue moves: all, or until the attempt before `until` returned."""
    if not facts.run.in_time or not facts.focus.pod:
        return []
    cycle, end = facts.focused, None
    if until is not None:
        before = [one.seq for one in facts.run.cycles if one.pod == cycle.pod and one.number < until.number]
        end = before[-1] + 1 if before else 0
    found = []
    for one in facts.run.moves(cycle.pod):
        if end is not None and one.seq > end + 1:
            break
        if isinstance(one, Move):
            why = one.cause.text.replace("default/", "") if one.cause else ""
            what = "popped for an attempt" if one.to == "popped" else f"to {PARTS.get(one.to, one.to)}"
            found.append({"t": shown(Seconds(one.t)), "what": what, "event": one.event, "why": why})
        else:
            plugins = ", ".join(filter(None, one.plugins))
            why = f"rejected by {plugins}" if plugins else "failed"
            found.append({"t": shown(Seconds(one.t)), "what": f"attempt {one.attempt}: {why}", "event": "", "why": ""})
    return found
