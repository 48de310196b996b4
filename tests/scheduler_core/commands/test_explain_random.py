"""`explain` on random clusters: every pending pod is tried once, and has the answer that it has alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.__main__ import main
from tests.random_clusters import Chance, random_cluster
from tests.scheduler_core.build import pod
from tests.scheduler_core.commands.conftest import Cli

Raw = dict[str, Any]
RELEASES = ("1.16", "1.18", "1.20", "1.24", "1.26", "1.28", "1.31", "1.33", "1.34", "1.35", "1.36")
GANGS = ("--feature-gates", "GenericWorkload=true,GangScheduling=true")


def cluster(seed: int) -> tuple[list[Raw], tuple[str, ...], int]:
    """Return the objects of a cluster, the options of `explain`, and how many pods this scheduler tries."""
    chance = Chance(seed)
    case = random_cluster(seed)
    objects, waiting = case["objects"], len(case["pods"])
    release = RELEASES[seed % len(RELEASES)]
    options: tuple[str, ...] = ("--release", release, "--absent-claims", "bound")
    big = [pod(f"big{i}", requests={"cpu": "1900m"}, priority=chance.choice((0, 5, 1000))) for i in range(3)]
    objects += big
    for number in range(chance.randint(0, 2)):
        replicas = chance.randint(1, 4)
        objects.append(_deployment(f"d{number}", replicas, chance.choice(("100m", "3"))))
        waiting += replicas
    if chance.happens(0.3):
        objects.append(pod("other", schedulerName="volcano"))
    if chance.happens(0.3):
        objects.append(pod("leaving", deleted=True))
    if release == "1.36" and chance.happens(0.7):
        size = chance.randint(2, 4)
        objects += _gang(size, chance.randint(1, size + 1), chance.choice(("100m", "3")))
        waiting += size
        options += GANGS
    return objects, options, waiting + len(big)


def _deployment(name: str, replicas: int, cpu: str) -> Raw:
    template = pod("template", labels={"of": name}, requests={"cpu": cpu})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"of": name}},
            "template": {"metadata": {"labels": {"of": name}}, "spec": template["spec"]},
        },
    }


def _gang(size: int, least: int, cpu: str) -> list[Raw]:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }
    named: Raw = {"schedulingGroup": {"podGroupName": "g"}}
    return [group, *(pod(f"g{i}", requests={"cpu": cpu}, **named) for i in range(size))]


def check(cli: Cli, seed: int, alone: int | None = None) -> None:
    """`alone`: maximum number of pods that are explained alone as well; None for all."""
    objects, options, waiting = cluster(seed)
    path = cli.snapshot(*objects)
    lines = [json.loads(line) for line in explained(cli, path, *options, "--json").splitlines()]
    answers = [answer for answer in lines if answer["result"] != "not asked"]  # pods of another scheduler
    names = [answer["pod"] for answer in answers]
    assert len(names) == len(set(names)) == waiting, seed
    text = explained(cli, path, *options)
    placed = sum(answer["result"] == "scheduled" for answer in answers)
    assert text.startswith(f"{waiting - placed} of {waiting} pods ")
    assert sum(f"\n{name}: " in text for name in names if f"\n{name}: Placed" in text) == placed
    for answer in answers[-alone:] if alone is not None else answers:
        only = explained(cli, path, *options, "--json", "--pod", answer["pod"])
        assert ordered(json.loads(only)) == ordered(answer), (seed, answer["pod"])


def ordered(answer: Raw) -> Raw:
    """Return the answer with the changes of each fix in one order, without the pod that is the target of a fix for
    several equal pods: it is the first that the fix edits, and that is the pod of the answer."""
    fixes = [
        fix | {"changes": sorted(fix.get("changes", []), key=str), "target": target_of(fix)}
        for fix in answer.get("fixes", [])
    ]
    return answer | {"fixes": fixes}


def target_of(fix: Raw) -> Raw | None:
    target: Raw | None = fix.get("target")
    several = target is not None and target["kind"] == "Pod" and len(fix.get("changes", [])) > 1
    return None if several else target


def explained(cli: Cli, *argv: str) -> str:
    """Run `explain`, which ends with 0 or 1, and return what it prints."""
    assert main(["explain", *argv]) in (0, 1)
    return cli.capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_pending_pod_is_tried_once(cli: Cli, seed: int) -> None:
    check(cli, seed, alone=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(500))
def test_every_pending_pod_of_500_clusters_is_tried_once(cli: Cli, seed: int) -> None:
    check(cli, seed)
