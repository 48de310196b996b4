"""Comparison of two stored runs over HTTP. The tests compute the counts from the pods of both runs."""

from collections import Counter
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from scheduler_core.releases import get_release
from tests.examples import selection
from tests.kubesched_ui.api.test_debugger import EXAMPLES
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import forked, get, ran, run_of, start

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MOST = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def again(client: Client, run: Run, **settings: Any) -> Run:
    """Start another run of the same scenario."""
    return run_of(client, run.scenario_id, **settings)


def compared(client: Client, a: Any, b: Any, status: int = 200, **query: Any) -> Any:
    numbers = {name: run.pk if isinstance(run, Run) else run for name, run in (("a", a), ("b", b))}
    return get(client, "/api/compare", status, **numbers, **query)


def pods_of(client: Client, run: Run) -> dict[str, Any]:
    found = client.get(f"{run.url}/pods", {"page_size": 1000}).json()
    assert found["total"] == len(found["pods"])
    return {f"{pod['namespace']}/{pod['name']}": pod for pod in found["pods"]}


def at_end(client: Client, run: Run) -> tuple[dict[str, Any], set[str]]:
    """Return the pods that have a node at the end, as `pods_of` does, and the pending ones."""
    state = get(client, f"{run.url}/state")
    on = [(pod, node["name"]) for node in state["nodes"] for pod in node["pods"]]
    return {pod: {"result": "scheduled", "node": node, "score": None} for pod, node in on}, set(state["pending"])


def check(client: Client, a: Run, b: Run) -> Any:
    """Compare every count and every pod with the pods of the two runs."""
    comparison, one, other = compared(client, a, b), pods_of(client, a), pods_of(client, b)
    tried, there = {*one, *other}, {entry["pod"] for entry in comparison["pods"]}
    if a.scenario_id == b.scenario_id:
        ends, pending = zip(*(at_end(client, run) for run in (a, b)), strict=True)
        tried |= {pod for pod in ends[0].keys() | ends[1].keys() if ends[0].get(pod) != ends[1].get(pod)}
        one, other = ends[0] | one, ends[1] | other
    assert there == tried
    counted: Counter[str] = Counter()
    for entry in comparison["pods"]:
        name = entry["pod"]
        gone = a.scenario_id == b.scenario_id and name not in ends[1] and name not in pending[1]
        gone = gone and (name not in other or (a.until == b.until and (name in ends[0] or name in pending[0])))
        for side, pods in (("a", one), ("b", other)):
            mine = {key: pods[name][key] for key in ("result", "node", "score")} if name in pods else None
            assert (entry[side] and {key: entry[side][key] for key in ("result", "node", "score")}) == mine, entry
        change = "gone" if gone else expected(one.get(name), other.get(name))
        counted[change] += 1
        assert entry["change"] == change
    assert Counter({key: value for key, value in comparison["summary"].items() if value}) == counted
    return comparison


def expected(a: Any, b: Any) -> str:
    if a is None or b is None:
        return "only_b" if a is None else "only_a"
    if (a["result"], a["node"]) == (b["result"], b["node"]):
        return "same"
    placed = [pod["result"] in ("scheduled", "waiting") for pod in (a, b)]
    if all(placed):
        return "moved" if a["node"] != b["node"] else "other"
    return "lost" if placed[0] else "gained" if placed[1] else "other"


SAMPLES = [*sorted(FOLDER.glob("*.yaml")), *sorted(EXAMPLES.glob("*.yaml"))]


@pytest.mark.parametrize("path", selection(SAMPLES[::-1], 12), ids=lambda path: path.stem)
def test_the_counts_agree_with_the_runs(client: Client, path: Any) -> None:
    a = ran(client, path.read_bytes(), seed=1)
    same = again(client, a, seed=1)
    comparison = check(client, a, same)
    assert set(comparison["summary"]) - {key for key, value in comparison["summary"].items() if value} >= {
        "moved",
        "lost",
    }
    assert (comparison["settings"], comparison["objects"], comparison["divergence"]) == ([], [], None)
    assert all(pod["first"] is None for pod in comparison["pods"])
    plugins = not get_release(a.release).predicates  # 1.16 has no NodeResourcesFit to configure
    config = {"config": MOST} if plugins else {}
    other = again(client, a, seed=2, preemption=False, **config, **({"until": 40} if a.in_time else {}))
    comparison = check(client, a, other)
    paths = {setting["path"] for setting in comparison["settings"]}
    packs = "MostAllocated" in a.config and "NodeResourceTopologyMatch" not in a.config  # which has it for itself
    assert {"seed", "preemption"} <= paths
    assert ("config.args.NodeResourcesFit.scoringStrategy.type" in paths) == (plugins and not packs)
    for pod_ in comparison["pods"]:
        if pod_["change"] not in ("same", "gone", "only_a", "only_b") and pod_["a"]["cycle"] and pod_["b"]["cycle"]:
            assert pod_["first"], pod_
            alone = compared(client, a, other, pod=pod_["pod"])
            assert alone["pods"] == [pod_]
            steps = [step for step in alone["steps"] if not step["same"]]
            assert (steps[0]["point"], steps[0]["plugin"]) == (pod_["first"]["point"], pod_["first"]["plugin"])


@pytest.fixture
def small(client: Client) -> Run:
    nodes = [node("n1"), node("n2")]
    return ran(client, as_list(*nodes, pod("web"), pod("big", cpu="64")), tie_break="name")


def test_runs_of_two_scenarios(client: Client, small: Run) -> None:
    taken = node("n1", taints=[{"key": "a", "effect": "NoSchedule"}])
    other = ran(client, as_list(taken, node("n2"), node("n3"), pod("web"), pod("new")), tie_break="name")
    comparison = check(client, small, other)
    assert comparison["summary"] == {
        "same": 0,
        "moved": 1,
        "gained": 0,
        "lost": 0,
        "gone": 0,
        "other": 0,
        "only_a": 1,
        "only_b": 1,
    }
    paths = {(found["kind"], found["name"], found["path"]) for found in comparison["objects"]}
    assert {("Node", "n1", "spec.taints"), ("Node", "n3", ""), ("Pod", "big", ""), ("Pod", "new", "")} <= paths
    web = next(entry for entry in comparison["pods"] if entry["pod"] == "default/web")
    assert (web["first"]["point"], web["first"]["plugin"], web["first"]["node"]) == ("filter", "TaintToleration", "n1")
    assert web["first"]["a"] == "passes"
    assert "untolerated taint" in web["first"]["b"]
    assert comparison["divergence"]["cycle"] == 1


def test_single_pass_and_virtual_time(client: Client, small: Run) -> None:
    comparison = check(client, small, again(client, small, in_time=True, tie_break="name", until=60))
    assert {"path": "in_time", "a": False, "b": True} in comparison["settings"]
    assert comparison["summary"]["same"] == 2


def test_releases_differ_in_their_defaults(client: Client, small: Run) -> None:
    comparison = check(client, small, again(client, small, release="1.27", tie_break="name"))
    assert [setting["path"] for setting in comparison["settings"]] == ["release"]


def test_queued_and_deleted_runs_cannot_be_compared(client: Client, small: Run) -> None:
    queued = start(client, small.scenario_id)
    assert "has not started" in compared(client, small, queued, status=409)["error"]
    number = small.pk
    small.delete()
    assert compared(client, number, queued, status=404) == {"error": f"There is no run {number}."}


@pytest.mark.parametrize("query", [{"a": 1}, {"a": "x", "b": 1}, {"a": 0, "b": 1}, {"a": 10**30, "b": 1}])
def test_invalid_run_numbers(client: Client, query: dict[str, Any]) -> None:
    assert get(client, "/api/compare", 422, **query)["error"]


def test_a_pod_of_neither_run(client: Client, small: Run) -> None:
    assert compared(client, small, small, status=400, pod="default/none")["error"] == (
        "Pod default/none: is in neither run"
    )


def test_cause(client: Client, small: Run) -> None:
    taken = node("n1", taints=[{"key": "a", "effect": "NoSchedule"}])
    other = ran(client, as_list(taken, node("n2"), pod("web"), pod("big", cpu="64")), tie_break="name", seed=5)
    found = cause(client, small, other, "default/web")
    assert [(unit["kind"], unit["path"]) for unit in found["causes"]] == [("object", "Node/n1")]
    assert (found["a"], found["b"]) == ({"result": "scheduled", "node": "n1"}, {"result": "scheduled", "node": "n2"})
    assert found["minimal"]
    page = client.get(f"/compare/{small.pk}/{other.pk}/?pod=default/web&which=1").content.decode()
    assert "object Node/n1" in " ".join(page.split())
    query = {"a": small.pk, "b": other.pk, "pod": "default/x"}
    assert "tried in neither" in get(client, "/api/compare/cause", 400, **query)["error"]


def cause(client: Client, a: Run, b: Run, pod: str) -> Any:
    """Return the cause of a difference. Both outcomes are those of the comparison."""
    found = client.get("/api/compare/cause", {"a": a.pk, "b": b.pk, "pod": pod}).json()
    (comparison,) = compared(client, a, b, pod=pod)["pods"]
    for side in ("a", "b"):
        assert [found[side][key] for key in ("result", "node")] == [comparison[side][key] for key in ("result", "node")]
    return found


@pytest.mark.parametrize("in_time", [False, True], ids=["one pass", "in time"])
def test_cause_between_forks(client: Client, small: Run, in_time: bool) -> None:
    """Changes and settings of a fork are differences, seen from either side and between two forks."""
    a = again(client, small, in_time=in_time, tie_break="name", **({"until": 60} if in_time else {}))
    b = forked(client, a, at=1, changes=[{"cordon": "n1"}, {"weight": {"plugin": "ImageLocality", "weight": 7}}],
             settings={"seed": 8, "release": "1.27"})  # fmt: skip
    found = cause(client, a, b, "default/web")
    assert [unit["text"] for unit in found["causes"]] == ["before cycle 1: cordon n1"]
    assert found["minimal"]
    assert ("t" in found["a"]) == in_time
    back = cause(client, b, a, "default/web")
    assert [unit["text"] for unit in back["causes"]] == ["without: before cycle 1: cordon n1"]
    other = forked(client, a, at=1, changes=[{"cordon": "n2"}, {"cordon": "n1"}])
    assert len(cause(client, b, other, "default/web")["causes"]) == 1
    assert cause(client, a, other, "default/big")["causes"] == []
    page = client.get(f"/compare/{a.pk}/{b.pk}/?pod=default/web&which=1").content.decode()
    assert "before cycle 1: cordon n1" in page


IN_TIME = [path for path in SAMPLES if path.stem[:2] in ("14", "15", "16", "17", "18")]


@pytest.mark.parametrize("path", selection(IN_TIME, 2), ids=str)
def test_cause_in_virtual_time(client: Client, path: Any) -> None:
    """A replayed run has the recorded result."""
    a = ran(client, path.read_bytes(), seed=1)
    b = again(client, a, seed=2, preemption=False, until=30)
    for pod_ in [entry["pod"] for entry in compared(client, a, b)["pods"] if entry["a"] and entry["b"]][:3]:
        cause(client, a, b, pod_)


def test_a_cause_is_refused_with_a_reason(client: Client, small: Run) -> None:
    def refusal(a: Any, b: Any, status: int = 400, pod: str = "default/web") -> str:
        error: str = get(client, "/api/compare/cause", status, a=a, b=b, pod=pod)["error"]
        return error

    timed = again(client, small, in_time=True, until=30)
    assert "both in virtual time" in refusal(small.pk, timed.pk)
    assert "both in virtual time" in refusal(timed.pk, small.pk)
    queued = start(client, small.scenario_id)
    assert refusal(small.pk, queued.pk) == f"cause: run {queued.pk} is still running"
    assert refusal(small.pk, 10**9, 404) == f"There is no run {10**9}."
    text = client.get(f"/compare/{small.pk}/{timed.pk}/?pod=default/web&which=1").content.decode()
    assert "both in virtual time" in text, "a page says it, too"


def test_a_fork_outlives_its_parent(client: Client, small: Run) -> None:
    b = forked(client, small, at=2, changes=[{"cordon": "n1"}])
    c = forked(client, b, at=1, changes=[{"cordon": "n1"}])
    number = small.pk
    small.delete()
    for run in (b, c):
        run.refresh_from_db()
    assert [unit["text"] for unit in cause(client, b, c, "default/web")["causes"]] == ["before cycle 1: cordon n1"]
    assert client.get("/api/compare/partners", {"a": b.pk, "b": c.pk}).json()["parting"] == 1
    assert client.get(f"/compare/{number}/{b.pk}/").status_code == 404


def test_cycles_are_aligned(client: Client, small: Run) -> None:
    """Cycles of one pod are aligned, whatever their numbers."""

    def partners(a: Run, b: Run) -> tuple[list[int], int | None]:
        found = client.get("/api/compare/partners", {"a": a.pk, "b": b.pk}).json()
        return found["of"], found["parting"]

    other = ran(client, as_list(node("n1"), node("n2"), pod("new"), pod("web"), pod("big", cpu="64")), tie_break="name")
    assert partners(small, small) == ([1, 2], None)
    assert partners(small, other) == ([2, 3], 1), "web goes elsewhere"
    assert partners(other, small)[0] == [-1, 1, 2]
    assert client.get("/api/compare/partners", {"a": small.pk, "b": 10**9}).status_code == 404
