"""Measure a large cluster by processor time: its upload, its run and its scenario page, each in a process of its own.

    python benchmarks/large_stages.py [--nodes 65000] [--pods 500000] [--bound 490000]

For a busy machine, on which seconds of the clock say little. The cluster is that of `large_run.py`. Prints one JSON
line for each stage: seconds of processor time of the process and of the one that it starts, and the peak MB of both.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.large_run import LIMITS, cluster  # noqa: E402


def upload(var: Path) -> None:
    from kubesched_ui.scenarios.upload_worker import read_and_store

    read_and_store([("cluster.json.gz", var / "cluster.json.gz")], "large", "upload", begun=lambda pk: None)


def run(var: Path) -> None:
    from kubesched_ui.models import Run, Scenario
    from kubesched_ui.runs import tasks

    run = Run.objects.create(scenario=Scenario.objects.get(), release="1.34", percentage=100, seed=1)
    tasks.execute_run(run.pk)


def page(var: Path) -> None:
    from kubesched_ui.models import Scenario
    from kubesched_ui.scenarios.stored_cluster import cluster_of_scenario

    cluster_of_scenario(Scenario.objects.get())


STAGES: dict[str, Callable[[Path], None]] = {"upload": upload, "run": run, "page": page}


def stage(name: str, var: Path) -> None:
    """Execute a stage in this process and print its figures."""
    os.environ |= dict(limit.split("=") for limit in LIMITS.split())
    os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "KUBESCHED_VAR_DIR": str(var)}
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    logging.disable(logging.WARNING)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    call_command("migrate", verbosity=0)
    kinds = {"own": resource.RUSAGE_SELF, "child": resource.RUSAGE_CHILDREN}
    before = {kind: resource.getrusage(who) for kind, who in kinds.items()}
    STAGES[name](var)
    figures: dict[str, float | str] = {"stage": name}
    for kind, who in kinds.items():
        used = resource.getrusage(who)
        seconds = used.ru_utime + used.ru_stime - before[kind].ru_utime - before[kind].ru_stime
        figures |= {f"{kind}_s": round(seconds, 2), f"{kind}_mb": round(used.ru_maxrss / 1024)}
    print(json.dumps(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=65_000)
    parser.add_argument("--pods", type=int, default=500_000)
    parser.add_argument("--bound", type=int, default=490_000)
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--var", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        stage(given.stage, given.var)
        return
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "cluster.json.gz").open("wb") as file:
            cluster(given.pods, given.nodes, given.bound, file)
        for name in STAGES:
            subprocess.run([sys.executable, __file__, "--stage", name, "--var", folder], check=True)


if __name__ == "__main__":
    main()
