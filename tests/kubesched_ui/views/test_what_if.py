"""What-if forms of nodes and pods: the form, the fork that a button starts, and its comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import PodResult, Run
from kubesched_ui.queries import recording_cache
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

STORY = Path(__file__).parents[2] / "browser" / "story.yaml"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def owned(made: dict[str, Any], name: str = "web") -> dict[str, Any]:
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": name, "controller": True}]
    return made


@pytest.fixture
def run() -> Run:
    """n1 and n2 have 4 cpu, and n2 has a taint. p1 and p2 fill n1. p3 and `picky` find no node."""
    taint = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    return ran(
        scenario(
            node("n1"),
            node("n2", taints=taint),
            owned(pod("bound", nodeName="n1", status={"phase": "Running"})),
            *(owned(pod(f"p{i}", cpu="1500m")) for i in (1, 2, 3)),
            pod("picky", nodeSelector={"disk": "ssd"}),
        )
    )


def form(client: Client, run: Run, kind: str, name: str, beginning: str = "") -> str:
    namespace = "default" if kind == "Pod" else ""
    address = f"/runs/{run.pk}/what-if/?kind={kind}&namespace={namespace}&name={name}&from={beginning}"
    return source(client, address)


def act(client: Client, run: Run, kind: str, name: str, action: str, **more: str) -> tuple[Run, str]:
    """Press a button. Return the finished fork and the text of its comparison."""
    namespace = "default" if kind == "Pod" else ""
    sent = {"kind": kind, "namespace": namespace, "name": name, "action": action} | more
    answer = client.post(f"/runs/{run.pk}/what-if/", sent)
    assert answer.status_code == 302, answer.content
    made = Run.objects.latest("pk")
    assert answer["Location"].split("?")[0] == f"/compare/{run.pk}/{made.pk}/"
    execute_run(made.pk)
    made.refresh_from_db()
    assert made.state == "done", made.error
    return made, source(client, answer["Location"])


def test_the_form_of_a_node(client: Client, run: Run) -> None:
    text = form(client, run, "Node", "n2")
    for button in ("cordon", "drain", "untaint dedicated=gpu:NoSchedule", "add", "resize", "taint"):
        assert f'name="action" value="{button}"' in text, button
    assert 'value="uncordon"' not in text
    assert '<option value="start">from the start</option>' in text
    assert 'name="allocatable.cpu" value="4"' in text
    later = form(client, run, "Node", "n2", "cycle 2")
    assert '<option value="cycle 2">before cycle 2</option><option value="start">' in later


def test_the_form_of_a_pod(client: Client, run: Run) -> None:
    text = form(client, run, "Pod", "picky", "cycle 4")
    for button in ("delete", "relax nodeSelector", "request"):
        assert f'name="action" value="{button}"' in text, button
    assert "nodeSelector disk=ssd" in text
    assert 'name="scope"' not in text
    assert "all 4 pods of ReplicaSet web" in form(client, run, "Pod", "p1")
    assert "The pod is on n1 at this point." in form(client, run, "Pod", "bound")


def test_pages_load_the_form(client: Client, run: Run) -> None:
    about = f"/runs/{run.pk}/what-if/?kind=Node&namespace=&name=n1&from=start"
    assert f'data-load="{about}"' in source(client, f"/runs/{run.pk}/nodes/n1/")
    assert "from=cycle+2" in source(client, f"/runs/{run.pk}/nodes/n1/?cycle=2")
    assert f"kind=Pod&namespace=default&name=p3&from=cycle+{cycle_of(run, 'p3')}" in source(
        client, f"/runs/{run.pk}/pods/default/p3/"
    )
    page = source(client, f"/runs/{run.pk}/")
    assert f'data-what-if="/runs/{run.pk}/what-if/"' in page
    assert sorted(re.findall('data-ask="(.+?)"', page)) == ["Pod default/p3", "Pod default/picky"]
    Run.objects.update(state=Run.State.RUNNING)
    page = source(client, f"/runs/{run.pk}/")
    assert ("data-what-if" in page, "data-ask" in page) == (True, False), "the map offers it once the run has ended"


def cycle_of(run: Run, name: str) -> int:
    return int(run.cycles.get(name=name).number)


def placed(run: Run) -> dict[str, str]:
    return dict(PodResult.objects.filter(run=run).values_list("name", "node"))


def test_each_button_starts_a_fork(client: Client, run: Run) -> None:
    assert placed(run) == {"p1": "n1", "p2": "n1", "p3": "", "picky": ""}
    cordon, text = act(client, run, "Node", "n1", "cordon")
    assert cordon.title == f"Run {run.pk} + cordon n1"
    assert "2 pods lose their node" in text
    untaint, text = act(client, run, "Node", "n2", "untaint dedicated=gpu:NoSchedule")
    assert placed(untaint)["p3"] == "n2"
    assert "1 pod is placed" in text
    more, text = act(client, run, "Node", "n1", "add", count="2")
    assert more.title == f"Run {run.pk} + 2 nodes like n1"
    assert {placed(more)[name] for name in ("p1", "p2", "p3")} & {"n1-new", "n1-new-2"}
    assert placed(more)["p3"]
    large, _ = act(client, run, "Node", "n1", "resize", **{"allocatable.cpu": "8"})
    assert placed(large)["p3"] == "n1"
    half, text = act(client, run, "Pod", "p3", "request", **{"c.cpu": "750m", "from": f"cycle {cycle_of(run, 'p3')}"})
    assert half.title == f"Run {run.pk} + 750m cpu for p3"
    assert "1 pod is placed" not in text  # 750m of the 0 that are left
    less, _ = act(client, run, "Pod", "p1", "request", scope="owner", **{"c.cpu": "750m"})
    assert less.title == f"Run {run.pk} + 750m cpu for 4 pods of ReplicaSet web"
    assert placed(less)["p3"] == "n1"
    soft, _ = act(client, run, "Pod", "picky", "relax nodeSelector", **{"from": "cycle 1"})
    assert soft.title == f"Run {run.pk} + preferred nodeSelector on picky"
    nested, _ = act(client, less, "Node", "n2", "cordon")
    assert nested.title == f"{less.title} + cordon n2"


def test_a_drain_shows_the_new_nodes_of_the_pods(client: Client, run: Run) -> None:
    untaint, _ = act(client, run, "Node", "n2", "untaint dedicated=gpu:NoSchedule")
    drain, text = act(client, untaint, "Node", "n1", "drain")
    assert placed(drain)["bound"] == "n2"
    assert '<th scope="row" class="name"><a data-plain href="?pod=default%2Fbound#pod">default/bound</a>' in text
    _, text = act(client, run, "Pod", "bound", "delete")
    assert "1 pod is evicted or deleted; 4 of 5 pods have the same outcome." in text


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ({}, "What if: kind: must be Node or Pod, got ''"),
        ({"kind": "Node", "name": "x"}, "Node x: does not exist from the start"),
        ({"kind": "Node", "name": "n1", "from": "cycle 99"}, "cycle: must be in 1..5, got 99"),
        ({"kind": "Node", "name": "n1", "from": "cycle 1.5"}, "What if: from: must be cycle K, t SECONDS or start"),
        ({"kind": "Node", "name": "n1", "from": "t nan"}, "What if: from: must be cycle K, t SECONDS or start"),
        ({"kind": "Node", "name": "n1"}, "What if: action: must be one of cordon, "),
        ({"kind": "Node", "name": "n1", "action": "untaint <b>"}, "Node n1: spec.taints: has no taint '<b>'"),
        (
            {"kind": "Pod", "namespace": "default", "name": "p1", "action": "relax x"},
            "Pod default/p1: spec: has no constraint 'x'",
        ),
        ({"kind": "Pod", "name": "p1\0", "action": "delete"}, "does not exist from the start"),
    ],
)
def test_invalid_forms_are_rejected(client: Client, run: Run, sent: dict[str, str], problem: str) -> None:
    address = f"/runs/{run.pk}/what-if/"
    answer = client.post(address, sent)
    assert answer.status_code == 400
    assert problem.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in answer.content.decode()
    assert Run.objects.count() == 1


def test_runs_in_virtual_time(client: Client) -> None:
    """n2 is added after 240 s. `boss` evicts `worker` at 60 s, and `late` waits for capacity."""
    stored = store(ingest_files([("story.yaml", STORY.read_bytes())]), name="story")
    timed = ran(stored, in_time=True, until=300.0)
    later = form(client, timed, "Node", "n2")
    assert "the first one with this node" in later
    assert "after 1:40" in form(client, timed, "Node", "n1", "t 100")
    drained, text = act(client, timed, "Node", "n1", "drain", **{"from": "t 100"})
    assert (drained.title, drained.fork_t) == (f"Run {timed.pk} + drain n1", 100.0)
    assert "default/boss" in text
    half, _ = act(client, timed, "Pod", "boss", "request", **{"c.cpu": "1", "from": "start"})
    assert half.changes[0]["patch"]["name"] == "boss"
    gone = client.post(f"/runs/{timed.pk}/what-if/", {"kind": "Node", "name": "n2", "from": "t 1", "action": "drain"})
    assert gone.status_code == 400
    assert "Node n2: does not exist after" in gone.content.decode()


def test_a_large_run_is_decoded_for_the_request_only(
    client: Client, run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_cache, "LARGE", 0)
    recording_cache._kept.clear()
    settings.OFFLOAD = True  # as in the web process
    with pytest.raises(NotRecorded):
        recording_of(run)
    answer = client.post(f"/runs/{run.pk}/what-if/", {"kind": "Node", "name": "n1", "action": "cordon"})
    assert answer.status_code == 302
    assert not recording_cache._kept
