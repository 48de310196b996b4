"""Exports of scenarios and runs.

A scenario is exported as a v1 List or a Scenario document. A run is exported as a run file, as JSON Lines, as Parquet,
or as kube-scheduler-simulator annotations.
"""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import msgspec
from asgiref.sync import sync_to_async

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.event_log.fingerprints import traces
from kubesched_ui.exports import parquet, run_file
from kubesched_ui.ingest.formats import LIST_ANNOTATIONS, OUR_GROUP, scenario_document
from kubesched_ui.models import Cycle, Run, Scenario
from kubesched_ui.runs.build_simulation import added_pods, pod_key, pods_named

PREFIX = "kube-scheduler-simulator.sigs.k8s.io"
PASSED, SUCCESS = "passed", "success"
CHUNK = 50

encode = msgspec.json.encode


class Gone(Exception):
    """Raised if the exported run was deleted."""


def scenario(scenario: Scenario) -> bytes:
    """Return a v1 List of the scenario's objects, or in virtual time a Scenario document. Both can be uploaded.

    Annotations of the List hold what a List has no field for: name, description, version and configuration.
    """
    if scenario.time:
        about = (scenario.description, scenario.kubernetes, scenario.config, scenario.time)
        return encode(scenario_document(scenario.name, scenario.objects_of(), *about))
    texts = {name: getattr(scenario, name) for name in (*LIST_ANNOTATIONS, "config")}
    metadata = {"annotations": {f"{OUR_GROUP}{name}": text for name, text in texts.items() if text}}
    items = b",\n".join(map(encode, scenario.objects_of()))
    return b'{"apiVersion":"v1","kind":"List","metadata":%s,"items":[%s]}' % (encode(metadata), items)


async def in_thread(run: Run, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield `parts` in chunks, produced in a thread because of the database access. Raises Gone."""
    while chunk := await sync_to_async(next_parts)(run, parts):
        yield b"".join(chunk)


def next_parts(run: Run, parts: Iterator[bytes]) -> list[bytes]:
    """Return the next parts, [] at the end.

    Raises Gone if the run was deleted. Its cycles are then missing, and the export must not look complete.
    """
    found = list(islice(parts, CHUNK))
    if not Run.everything.filter(pk=run.pk).exists():
        raise Gone(f"Run {run.pk} was deleted during the export.")
    return found


def jsonl(run: Run) -> Iterator[bytes]:
    """Yield JSON Lines: the run ({run, kubernetes, seed, node_order}), then each cycle with the keys of
    docs/formats.md.
    """
    head = {"run": run.pk, "kubernetes": run.release, "seed": run.seed, "node_order": run.node_names}
    stops = [{"name": stop.name, "where": stop.where} for stop in run.breakpoints.all()]
    yield encode(head | ({"breakpoints": stops} if stops else {})) + b"\n"
    for _, trace, nodes in traces(run):
        yield encode(trace.golden(nodes) | ({"time": trace.time} if run.in_time else {})) + b"\n"


def simulator(run: Run) -> Iterator[bytes]:
    """Yield a v1 List of the run's pods, each with its node and the annotations of its last cycle."""
    added = {pod_key(obj): obj for obj in added_pods(run) if obj.get("kind") == "Pod"}
    yield b'{"apiVersion":"v1","kind":"List","items":['
    before = b""
    last: dict[str, int] = {}
    for number, namespace, name in (
        Cycle.objects.filter(run=run).order_by("number").values_list("number", "namespace", "name")
    ):
        last[f"{namespace}/{name}"] = number
    rest = iter(last.items())
    while some := list(islice(rest, CHUNK)):
        pods = pods_named(run, [key for key, _ in some]) | added
        for key, number in some:
            stored = Cycle.objects.get(run=run, number=number)
            nodes = run.nodes_at(stored.nodes_version)
            trace = trace_of(stored)
            preemptor = trace.postfilter.plugin if trace.postfilter is not None else ""
            yield before + encode(annotated(pods.get(key) or bare(key), trace.golden(nodes), nodes, preemptor))
            before = b",\n"
    yield b"]}"


def bare(key: str) -> dict[str, Any]:
    """Return a pod that was created during the run, with only its name."""
    namespace, _, name = key.partition("/")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name}}


def annotated(pod: dict[str, Any], cycle: dict[str, Any], nodes: list[str], preemptor: str) -> dict[str, Any]:
    """Return the pod with its result annotations and, if it was placed, its node."""
    metadata = pod.get("metadata") or {}
    annotations = (metadata.get("annotations") or {}) | annotations_of(cycle, nodes, preemptor)
    spec = (pod.get("spec") or {}) | ({"nodeName": cycle["selected"]} if cycle.get("selected") else {})
    return pod | {"metadata": metadata | {"annotations": annotations}, "spec": spec}


def annotations_of(cycle: dict[str, Any], nodes: list[str], preemptor: str) -> dict[str, str]:
    """Return the simulator's annotations: JSON texts, with scores as strings. `preemptor`: the plugin that evicts.

    Source: kube-scheduler-simulator, simulator/scheduler/plugin (annotation, resultstore). They contain only what a
    cycle records: a plugin that passes every node is in `filter-result` only if another node's rejection shows that it
    ran.
    """
    selected = cycle.get("selected") or ""
    score = cycle.get("score") or {}
    placed = {"DefaultBinder": SUCCESS} if selected else {}
    post = cycle.get("postfilter") or {}
    values: dict[str, Any] = {
        "prefilter-result": {},
        "prefilter-result-status": status_of(cycle.get("prefilter")),
        "filter-result": filter_result(cycle, nodes),
        "postfilter-result": {node: {preemptor: "preemption victim"} for node in [post.get("nominated_node")] if node},
        "prescore-result": dict.fromkeys(score, SUCCESS) | dict.fromkeys(cycle.get("skipped_score") or [], ""),
        "score-result": by_node({plugin: s["raw"] for plugin, s in score.items()}),
        "finalscore-result": by_node(
            {plugin: {n: v * s["weight"] for n, v in s["normalized"].items()} for plugin, s in score.items()}
        ),
        "reserve-result": status_of(cycle.get("reserve")),
        "permit-result": {},
        "permit-result-timeout": {},
        "prebind-result": {},
        "bind-result": placed,
    }
    found = {f"{PREFIX}/{name}": encode(value).decode() for name, value in values.items()}
    return found | ({f"{PREFIX}/selected-node": selected} if selected else {})


def filter_result(cycle: dict[str, Any], nodes: list[str]) -> dict[str, dict[str, str]]:
    """Return node -> plugin -> "passed" or the reasons, for the evaluated nodes.

    As in upstream, plugins after the first one that rejects a node are missing.
    """
    decided, every = cycle.get("filter") or {}, cycle.get("filter_all") or {}
    plugins = list(dict.fromkeys(plugin for refusals in every.values() for plugin in refusals))
    found: dict[str, dict[str, str]] = {}
    for node in cycle.get("feasible") or []:
        found[node] = dict.fromkeys(plugins, PASSED)
    for node, status in decided.items():
        refused = status.get("plugin")
        if refused:
            also = every.get(node, {})
            found[node] = {p: PASSED for p in plugins if p != refused and p not in also}
            found[node][refused] = ", ".join(status.get("reasons") or [])
    return {node: found[node] for node in nodes if node in found}


def status_of(status: dict[str, Any] | None) -> dict[str, str]:
    """Return plugin -> its reasons, from a golden status."""
    return {status.get("plugin") or "": ", ".join(status.get("reasons") or [])} if status else {}


def by_node(by_plugin: dict[str, dict[str, int]]) -> dict[str, dict[str, str]]:
    """Convert plugin -> node -> n to node -> plugin -> "n"."""
    found: dict[str, dict[str, str]] = {}
    for plugin, values in by_plugin.items():
        for node, value in values.items():
            found.setdefault(node, {})[plugin] = str(value)
    return found


# Format -> the function that yields the file, its content type, and its suffix.
FORMATS = {
    "run": (run_file.document, "application/json", "run.json"),
    "jsonl": (jsonl, "application/x-ndjson", "jsonl"),
    "simulator": (simulator, "application/json", "json"),
    "parquet": (parquet.archive, "application/zip", "parquet.zip"),
}
