"""Provenance of recorded numbers in stored runs, single pass and virtual time."""

import itertools
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.queries import provenance
from kubesched_ui.scenarios.samples import FOLDER
from tests.examples import selection
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import get, ran
from tests.scheduler_core.provenance.evaluate import LEAVES, nodes, problems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def empty_caches() -> None:
    """Forget the cluster of a run of another test."""
    provenance._provenance.cache_clear()


def ask(client: Client, run: Run, key: str, status: int = 200, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = get(client, f"{run.url}/pods/{key}/provenance", status, **query)
    return found


def objects_then(client: Client, run: Run, tree: dict[str, Any], cycle: int) -> dict[tuple[str, str, str], Any]:
    """Return the objects that a tree names, as they were before the cycle."""
    found = {}
    for leaf in nodes(tree):
        source = leaf.get("source")
        if source and leaf["op"] == "field":
            answer = client.get(f"/api/runs/{run.pk}/object", {**source, "cycle": cycle})
            found[source["kind"], source.get("namespace", ""), source["name"]] = answer.json()
    return found


@pytest.mark.parametrize(
    "sample", selection(["10-preemption", "12-pod-affinity", "16-preemption-in-time", "04-zone-spread"], 2)
)
def test_every_recorded_number_has_a_tree(client: Client, sample: str) -> None:
    run = ran(client, (FOLDER / f"{sample}.yaml").read_bytes())
    count = 0
    for cycle in run.cycles.order_by("number")[:8]:
        key = f"{cycle.namespace}/{cycle.name}"
        recorded_pod = client.get(f"/api/runs/{run.pk}/pods/{key}").json()
        numbers = [row.number for row in run.cycles.filter(namespace=cycle.namespace, name=cycle.name)]
        recorded = recorded_pod["cycles"][numbers.index(cycle.number)]
        for query, value in itertools.islice(questions(recorded), 60):
            tree = ask(client, run, key, cycle=cycle.number, **query)
            assert tree["value"] == value, query
            assert tree["text"]
            assert list(problems(tree, objects_then(client, run, tree, cycle.number))) == []
            count += 1
    assert count > 10


def questions(recorded: dict[str, Any]) -> Any:
    names = list(recorded.get("filter_all") or {})[:2] + recorded.get("feasible", [])[:2]
    for name in names:
        for plugin in ("NodeResourcesFit", "TaintToleration", "NodeName"):
            refused = plugin in (recorded.get("filter_all") or {}).get(name, {})
            yield {"point": "filter", "plugin": plugin, "node": name}, refused
        for plugin, score in (recorded.get("score") or {}).items():
            if name in score["raw"]:
                yield {"point": "raw", "plugin": plugin, "node": name}, score["raw"][name]
                yield {"point": "normalized", "plugin": plugin, "node": name}, score["normalized"][name]
                weighted = score["normalized"][name] * score["weight"]
                yield {"point": "weighted", "plugin": plugin, "node": name}, weighted
        if name in (recorded.get("total") or {}):
            yield {"point": "total", "node": name}, recorded["total"][name]
        if recorded.get("postfilter"):
            yield {"point": "preemption", "node": name}, name == recorded["postfilter"].get("nominated_node")


def test_earlier_cycles_and_pages(client: Client) -> None:
    many = [pod(f"p{i:02}", f"{10 + i}m") for i in range(30)]
    run = ran(client, as_list(node("n1"), *many, pod("q")))
    first = ask(client, run, "default/q", point="filter", plugin="NodeResourcesFit", node="n1")
    second = ask(client, run, "default/q", point="filter", plugin="NodeResourcesFit", node="n1", page=2)
    assert first["pages"] == second["pages"] == 2
    leaves = [leaf for tree in (first, second) for leaf in nodes(tree) if leaf["op"] == "field" and "cycle" in leaf]
    names = {leaf["source"]["name"] for leaf in leaves}
    assert names == {f"p{i:02}" for i in range(30)}
    assert {leaf["cycle"] for leaf in leaves} == set(range(1, 31))
    assert {leaf["op"] for tree in (first, second) for leaf in nodes(tree) if "args" not in leaf} <= LEAVES
    assert list(problems(second, objects_then(client, run, second, 31))) == []


def test_invalid_queries_name_the_parameter(client: Client) -> None:
    run = ran(client, as_list(node("n1"), node("n2"), pod("p")))
    fit = {"plugin": "NodeResourcesFit", "node": "n1"}
    for status, says, query in (
        (400, "point: must be one of", {"point": "colour"}),
        (400, "plugin: must be given", {"point": "raw", "node": "n1"}),
        (404, "plugin: 'X' is not at score", {"point": "raw", "node": "n1", "plugin": "X"}),
        (404, "node: there was no node", {"point": "raw", **fit, "node": "n9"}),
        (404, "point: no PostFilter plugin", {"point": "preemption", "node": "n1"}),
        (404, "attempt: there is no attempt 7", {"point": "raw", **fit, "attempt": 7}),
        (404, "cycle: there is no cycle 7", {"point": "raw", **fit, "cycle": 7}),
        (422, "page", {"point": "raw", **fit, "page": 0}),
        (422, "point", {}),
    ):
        assert says in ask(client, run, "default/p", status, **query)["error"]
    assert "default/nobody" in ask(client, run, "default/nobody", 404, point="total")["error"]
