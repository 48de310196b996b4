"""Our own runs with another seed are a real scheduler, too: each of their decisions is explained."""

import random

import pytest

from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.random_clusters import random_cluster
from tests.scheduler_core.shadow.run_stream import RunStream
from tests.scheduler_core.virtual_time_runs import scenario


def judged(seed: int, release: str, burst: bool) -> list[Judgement]:
    """Judge a run on a random cluster. `burst`: all pods appear at once, and bindings are written out of order."""
    cluster = random_cluster(seed)
    pending, objects, timeline = set(cluster["pods"]), [], []
    for raw in cluster["objects"]:
        key = f"{raw['metadata'].get('namespace', 'default')}/{raw['metadata']['name']}"
        if raw["kind"] == "Pod" and key in pending:
            timeline.append({"at": 0 if burst else 3 * len(timeline) + 3, "create": raw})
        else:
            objects.append(raw)
    more = {"kubernetes": release, "tieBreak": "seed", "seed": seed}
    run = ScenarioRun(scenario(*objects, timeline=timeline, until=120, **more))
    judge = Judge(run.simulation.release)
    items = RunStream(run, random.Random(seed) if burst else None).items()
    return [*(judgement for item in items for judgement in judge.feed(item)), *judge.finish()]


def odd(seed: int, release: str, burst: bool) -> list[Judgement]:
    return [judgement for judgement in judged(seed, release, burst) if not judgement.explained]


@pytest.mark.parametrize(("seed", "burst"), [(3, False), (51, True), (8, True)])
def test_a_run_is_explained(seed, burst):
    assert odd(seed, "1.36", burst) == []


@pytest.mark.long
@pytest.mark.parametrize("release", ["1.16", "1.18", "1.22", "1.27", "1.31", "1.34", "1.35", "1.36"])
@pytest.mark.parametrize("burst", [False, True], ids=["spaced", "burst"])
def test_runs_of_many_clusters_are_explained(release, burst):
    found = {seed: problems for seed in range(80) if (problems := odd(seed, release, burst))}
    assert found == {}
