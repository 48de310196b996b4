"""What can be taken away: a scenario as a v1 List, a run as a file that makes it again, as JSON lines, as Parquet, or
as kube-scheduler-simulator's annotations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import msgspec
from asgiref.sync import sync_to_async

from kubesched_ui.event_log.fingerprints import traces
from kubesched_ui.exports import parquet as tables
from kubesched_ui.exports import run_file as carried
from kubesched_ui.ingest.formats import LIST_SAYS, OUR_GROUP
from kubesched_ui.ingest.scenario_document import scenario_document
from kubesched_ui.models import Cycle, Run, Scenario
from kubesched_ui.presenters import cycle_rows
from kubesched_ui.runs.build_simulation import added_pods, pod_key, pods_named

PREFIX = "kube-scheduler-simulator.sigs.k8s.io"
PASSED, SUCCESS = "passed", "success"
CHUNK = 50

encode = msgspec.json.encode


class Gone(Exception):
    """What is exported no longer exists."""


def scenario(scenario: Scenario) -> bytes:
    """A v1 List of the scenario's objects, or a Scenario document if it has time; either can be uploaded again.

    What the List has no place for (name, description, version, configuration) is in its annotations.
    """
    if scenario.time:
        about = (scenario.description, scenario.kubernetes, scenario.config, scenario.time)
        return encode(scenario_document(scenario.name, scenario.objects_of(), *about))
    texts = {name: getattr(scenario, name) for name in (*LIST_SAYS, "config")}
    metadata = {"annotations": {f"{OUR_GROUP}{name}": text for name, text in texts.items() if text}}
    items = b",\n".join(map(encode, scenario.objects_of()))
    return b'{"apiVersion":"v1","kind":"List","metadata":%s,"items":[%s]}' % (encode(metadata), items)


def jsonl(run: Run) -> AsyncIterator[bytes]:
    """A line for the run ({run, kubernetes, seed, node_order}), then one per cycle with the keys of docs/formats.md."""
    return in_thread(run, jsonl_lines(run))


def simulator(run: Run) -> AsyncIterator[bytes]:
    """A v1 List of the run's pods, each with the annotations of its last cycle and its node."""
    return in_thread(run, simulator_text(run))


def run_file(run: Run) -> AsyncIterator[bytes]:
    """The run to be made again elsewhere, see `run_file.document`."""
    return in_thread(run, carried.document(run))


def parquet(run: Run) -> AsyncIterator[bytes]:
    """A zip of the run's tables, see `parquet.archive`."""
    return in_thread(run, tables.archive(run))


async def in_thread(run: Run, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """`parts`, a chunk at a time, made in a thread as the database needs it. Raises Gone."""
    while chunk := await sync_to_async(some_of)(run, parts):
        yield b"".join(chunk)


def some_of(run: Run, parts: Iterator[bytes]) -> list[bytes]:
    """The next parts, none at the end. Raises Gone for a run that was deleted: what is left of its cycles is none, and
    the parts before must not pass for the whole."""
    some = list(islice(parts, CHUNK))
    if not Run.everything.filter(pk=run.pk).exists():
        raise Gone(f"Run {run.pk} was deleted during the export.")
    return some


def golden_cycles(run: Run) -> Iterator[dict[str, Any]]:
    """All cycles in order, with the golden format's keys."""
    for _, trace, nodes in traces(run):
        yield trace.golden(nodes) | ({"time": trace.time} if run.in_time else {})


def jsonl_lines(run: Run) -> Iterator[bytes]:
    head = {"run": run.pk, "kubernetes": run.release, "seed": run.seed, "node_order": run.node_names}
    stops = [{"name": stop.name, "where": stop.where} for stop in run.breakpoints.all()]
    yield encode(head | ({"breakpoints": stops} if stops else {})) + b"\n"
    for cycle in golden_cycles(run):
        yield encode(cycle) + b"\n"


def simulator_text(run: Run) -> Iterator[bytes]:
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
            cycle = cycle_rows.trace_of(stored).golden(nodes)
            yield before + encode(annotated(pods.get(key) or bare(key), cycle, nodes))
            before = b",\n"
    yield b"]}"


def bare(key: str) -> dict[str, Any]:
    """A pod that came while the run went on: its name."""
    namespace, _, name = key.partition("/")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name}}


def annotated(pod: dict[str, Any], cycle: dict[str, Any], nodes: list[str]) -> dict[str, Any]:
    """The pod with its result annotations; bound if it was placed."""
    metadata = pod.get("metadata") or {}
    annotations = (metadata.get("annotations") or {}) | annotations_of(cycle, nodes)
    spec = (pod.get("spec") or {}) | ({"nodeName": cycle["selected"]} if cycle.get("selected") else {})
    return pod | {"metadata": metadata | {"annotations": annotations}, "spec": spec}


def annotations_of(cycle: dict[str, Any], nodes: list[str]) -> dict[str, str]:
    """The simulator's annotations: JSON texts, scores as strings.

    Source: kube-scheduler-simulator, simulator/scheduler/plugin (annotation, resultstore). Only what a cycle records is
    said: plugins that pass every node are in `filter-result` where they are known from another node's refusal.
    """
    selected = cycle.get("selected") or ""
    score = cycle.get("score") or {}
    placed = {"DefaultBinder": SUCCESS} if selected else {}
    post = cycle.get("postfilter") or {}
    values: dict[str, Any] = {
        "prefilter-result": {},
        "prefilter-result-status": status_of(cycle.get("prefilter")),
        "filter-result": filter_result(cycle, nodes),
        "postfilter-result": {
            node: {"DefaultPreemption": "preemption victim"} for node in [post.get("nominated_node")] if node
        },
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
    """node -> plugin -> "passed" or why not, for the nodes that were looked at.

    As upstream evaluates, the plugins after the one that decided against a node are not there.
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
    """plugin -> its reasons, of a golden status."""
    return {status.get("plugin") or "": ", ".join(status.get("reasons") or [])} if status else {}


def by_node(by_plugin: dict[str, dict[str, int]]) -> dict[str, dict[str, str]]:
    """plugin -> node -> n turned into node -> plugin -> "n"."""
    found: dict[str, dict[str, str]] = {}
    for plugin, values in by_plugin.items():
        for node, value in values.items():
            found.setdefault(node, {})[plugin] = str(value)
    return found
