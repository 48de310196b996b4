"""Provenance of the times of a pod in the queue: every move of the virtual time samples, in two releases."""

from collections import Counter
from itertools import product
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from scheduler_core.search.provenance import DISAGREES
from tests.kubesched_ui.http_api import get, ran
from tests.scheduler_core.provenance.evaluate import nodes, problems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SAMPLES = ("13-queue", "14-backoff", "15-hints", "16-preemption-in-time", "17-taint-eviction", "18-gang")


def sample(name: str, release: str) -> bytes:
    text = (FOLDER / f"{name}.yaml").read_text()
    return text.replace('kubernetes: "1.34"', f'kubernetes: "{release}"').encode()


MOVES = 150  # moves of a run, spread over it


def moves_of(client: Client, run: Run) -> Any:
    """Return (pod, move, history entry) of each move of the run's pods."""
    for pod in client.get(f"/api/runs/{run.pk}/pods").json()["pods"]:
        key = f"{pod['namespace']}/{pod['name']}"
        for move in client.get(f"/api/runs/{run.pk}/pods/{key}/history").json()["moves"]:
            yield key, move


@pytest.mark.parametrize(
    ("name", "release"),
    [
        *(
            pytest.param(name, release, marks=pytest.mark.long if name == "13-queue" or n % 6 else ())
            for n, (name, release) in enumerate(product(SAMPLES, ("1.34", "1.27")))
        ),
        *((name, "1.16") for name in SAMPLES[1:5]),  # the older release has no such configuration as the last sample
    ],
)
def test_every_move_of_every_sample(client: Client, name: str, release: str) -> None:
    run = ran(client, sample(name, release), release=release)
    assert run.release == release
    labels: Counter[str] = Counter()
    every = list(moves_of(client, run))
    for key, move in every[:: 1 + len(every) // MOVES]:
        tree = ask(client, run, key, move=move["seq"])
        assert tree["value"] == move["t"], (key, move, tree)
        assert tree.get("label") != DISAGREES, (key, move)
        assert tree["text"]
        assert list(problems(tree, {})) == []
        labels[tree["op"]] += 1
        if move["until"] is not None:
            end = ask(client, run, key, move=move["seq"], until=True)
            assert end["value"] == move["until"]
            assert list(problems(end, {})) == []
    assert labels.total() > 3


def ask(client: Client, run: Run, key: str, status: int = 200, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = get(client, f"{run.url}/pods/{key}/provenance", status, point="queue", **query)
    return found


def test_backoff_is_explained_down_to_the_configuration(client: Client) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npodMaxBackoffSeconds: 3\n"
    run = ran(client, sample("14-backoff", "1.34"), config=config)
    tree = ask(client, run, "default/unlucky", attempt=4)
    assert "3 s = min(1 s x 2^2, 3 s)" in tree["text"]
    arguments = {leaf["path"]: leaf for leaf in nodes(tree) if leaf["op"] == "argument"}
    assert arguments["podInitialBackoffSeconds"]["default"] is True
    assert "default" not in arguments["podMaxBackoffSeconds"]
    failed = [leaf["cycle"] for leaf in nodes(tree) if leaf.get("cycle")]
    assert 3 in failed
    line = client.get(f"/runs/{run.pk}/object/?kind=KubeSchedulerConfiguration&path=podMaxBackoffSeconds")
    assert 'aria-current="location">podMaxBackoffSeconds: 3' in line.content.decode()


def test_queueing_hints_and_invalid_queries(client: Client) -> None:
    run = ran(client, sample("15-hints", "1.34"))
    tree = ask(client, run, "default/ssd", attempt=2)
    assert "label disk=ssd added (NodeAffinity's hint returned Queue)" in tree["text"]
    assert 300 in [
        leaf["value"] for leaf in nodes(tree) if leaf.get("label") == "DefaultPodMaxInUnschedulablePodsDuration"
    ]
    last = client.get(f"/api/runs/{run.pk}").json()["last_seq"]
    assert "does not move" in ask(client, run, "default/ssd", move=last, status=404)["error"]
    assert "no attempt 9" in ask(client, run, "default/ssd", attempt=9, status=404)["error"]
    once = ran(client, (FOLDER / "01-fit.yaml").read_bytes())
    pod = client.get(f"/api/runs/{once.pk}/pods").json()["pods"][0]
    labels = ask(client, once, f"{pod['namespace']}/{pod['name']}", status=404)
    assert labels["error"].startswith("point: queue is only for runs in virtual time")


def test_old_releases_wake_pods_on_any_event_and_forget_backoff(client: Client) -> None:
    run = ran(client, sample("14-backoff", "1.16"), release="1.16")
    moves = [(key, move) for key, move in moves_of(client, run) if move["from"] == "unschedulable"]
    texts = [ask(client, run, key, move=move["seq"])["text"] for key, move in moves]
    assert texts
    assert not any("registered" in text or "hint" in text for text in texts)
    key = moves[0][0]
    way = client.get(f"/api/runs/{run.pk}/pods/{key}/history").json()["critical_path"]
    assert "an event, or 1 min to pass" in [part["waiting_for"] for part in way]
