"""The same sentence about a pod without a node everywhere: `explain`, the API, the pages of run and pod."""

import html
import random
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run
from kubesched_ui.presenters.run_answer import WORKLOADS, answer_of
from kubesched_ui.runs.services import defaults
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.pages import get, source
from tests.kubesched_ui.recordings import ran, scenario
from tests.scheduler_core.explain.planted.answers import explained

pytestmark = pytest.mark.django_db

ZONES, POOLS = ("a", "b", "c"), ("general", "batch", "gpu")
TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


def cluster(seed: int) -> list[dict[str, Any]]:
    """Return a cluster with up to WORKLOADS workloads, most of which find no node."""
    rng = random.Random(seed)
    nodes: list[dict[str, Any]] = []
    for i in range(rng.randint(3, 9)):
        pool = rng.choice(POOLS)
        labels = {"topology.kubernetes.io/zone": rng.choice(ZONES), "pool": pool}
        spec: dict[str, Any] = {"taints": [TAINT]} if pool == "batch" else {}
        spec |= {"unschedulable": True} if rng.random() < 0.15 else {}
        nodes.append(node(f"n{i}", cpu=str(rng.choice((4, 8))), labels=labels, **spec))
        if rng.random() < 0.4:
            nodes.append(pod(f"victim-{i}", "3", on=f"n{i}", priority=-1))
    return [*nodes, *(one for i in range(WORKLOADS) for one in workload(rng, f"w{i}"))]


def workload(rng: random.Random, name: str) -> list[dict[str, Any]]:
    """Return the pods of a random workload, or one without a controller."""
    terms = [{"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "topology.kubernetes.io/zone"}]
    wishes: list[dict[str, Any]] = [
        {"nodeSelector": {"pool": rng.choice((*POOLS, "bacth"))}},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}},
        {"schedulingGates": [{"name": "example.com/quota"}]},
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"of-{name}"}}]},
        {"priority": rng.choice((5, 10))},
        {},
    ]
    often = (6, 3, 1, 4, 1, 2, 6)
    spec = rng.choices(wishes, often)[0] | rng.choices(wishes, often)[0]
    cpu = str(rng.choices((1, 3, 6, 7, 9, 64), (2, 4, 4, 4, 1, 1))[0])
    number = rng.choice((0, 1, 2, 5))
    made = [pod(f"{name}-{i}", cpu, **spec) for i in range(number or 1)]
    for one in made:
        one["metadata"]["labels"] = {"app": name}
        if number:
            owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": name, "controller": True}
            one["metadata"]["ownerReferences"] = [owner]
    return made


def plain(text: str) -> str:
    """Return a part of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", text)))


SEEDS = range(8)


@pytest.mark.parametrize("seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS])
def test_all_places_say_the_same(client: Client, seed: int) -> None:
    objects = cluster(seed)
    answers = explained(objects, release="1.34")
    run = ran(scenario(*objects), release="1.34")
    found = sentences(client, run)
    assert len(found) > 10
    assert found == {key: answers[key]["sentence"] for key in found}


def sentences(client: Client, run: Run) -> dict[str, str]:
    """Return the sentence about each pod without a node, after checking that all places of the run have it."""
    pending = run.pod_results.without_node().pod_keys()
    by_api = {pod: one["sentence"] for one in client.get(f"/api/runs/{run.pk}/answers").json() for pod in one["pods"]}
    assert sorted(by_api) == sorted(pending)
    page = plain(source(client, f"/runs/{run.pk}/"))
    on_page = answer_of(Run.objects.get(pk=run.pk))
    assert on_page.pending == sum(workload.count for workload in on_page.listed)
    for key, sentence in by_api.items():
        assert client.get(f"/api/runs/{run.pk}/pods/{key}/answer").json()["sentence"] == sentence, key
        assert sentence in page, key
        assert get(client, f"/runs/{run.pk}/pods/{key}/").answer == sentence, key
    return by_api


@pytest.mark.parametrize(
    ("sample", "until", "pods"),
    [("20-pod-group", None, 5), ("18-gang", 31, 1), ("14-backoff", 3, 1)],
    ids=["groups", "permit rejected", "binding failed"],
)
def test_pods_whose_last_attempt_chose_a_node(client: Client, sample: str, until: float | None, pods: int) -> None:
    stored = store(ingest_files([(sample, FOLDER / f"{sample}.yaml")]))
    settings = {"config": stored.config} | defaults(stored) | ({"until": until} if until else {})
    assert len(sentences(client, ran(stored, **settings))) == pods


def test_enough_pods_are_compared() -> None:
    assert sum(len(cluster(seed)) for seed in SEEDS) > 250
