"""`manage.py simulate FILE...`: upload, run and outcome without a browser."""

from __future__ import annotations

import logging
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from kubesched_ui import runs, uploads
from kubesched_ui.ingest import IngestError
from kubesched_ui.models import PodResult, Run, Scenario
from kubesched_ui.tasks import execute_run
from scheduler_core.errors import InputError

PENDING, BAD_INPUT = 1, 2
COLUMNS = ("pod", "result", "node", "score", "margin", "message")


class Command(BaseCommand):
    help = (
        "Schedules the pending pods of a cluster and prints where each goes or why nowhere. "
        "Exit code 1: a pod stays pending; 2: the input is wrong."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="kubectl output, dumps, archives; - is stdin")
        parser.add_argument("--release", default="1.34")
        parser.add_argument("--config", default="", metavar="FILE", help="a KubeSchedulerConfiguration")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--tie-break", choices=Run.TieBreak.values, default=Run.TieBreak.SEED)
        parser.add_argument("--percentage", type=int, help="percentageOfNodesToScore")
        parser.add_argument("--no-preemption", action="store_true")
        parser.add_argument("--pods", nargs="+", metavar="NS/NAME", help="these pods, in this order")
        parser.add_argument("--unbind", nargs="+", default=[], metavar="NS/NAME", help="bound pods to place again")
        parser.add_argument("--keep", action="store_true", help="keep scenario and run, to be looked at in the browser")

    def handle(self, *args: Any, **options: Any) -> None:
        settings.INGEST_ISOLATED = False
        logging.getLogger("kubesched_ui").setLevel(logging.WARNING)
        call_command("migrate", verbosity=0)
        try:
            scenario = uploads.make_scenario([read(name) for name in options["files"]], origin=Scenario.Origin.API)
        except (IngestError, OSError) as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from None
        try:
            run = run_to_the_end(scenario, options)
            print_table(run)
        finally:
            if not options["keep"]:
                scenario.delete()
        if run.placed < run.cycles_total or run.state != Run.State.DONE:
            sys.exit(PENDING)


def read(name: str) -> uploads.File:
    """A file as an upload."""
    return ("stdin", sys.stdin.buffer.read()) if name == "-" else (Path(name).name, Path(name))


def run_to_the_end(scenario: Scenario, options: dict[str, Any]) -> Run:
    """The finished run, done by this process (or by a worker, should one take it first)."""
    try:
        wanted = runs.RunSettings(
            release=options["release"],
            config=Path(options["config"]).read_text() if options["config"] else "",
            seed=options["seed"],
            tie_break=options["tie_break"],
            preemption=not options["no_preemption"],
            percentage=options["percentage"],
            pods=options["pods"],
            unbind=options["unbind"],
        )
        run = runs.create_run(scenario, wanted, send=False)
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise CommandError(str(error), returncode=BAD_INPUT) from None
    execute_run(run.pk)
    run.refresh_from_db()
    while run.active:
        time.sleep(0.2)
        run.refresh_from_db()
    if run.state == Run.State.FAILED:
        raise CommandError(run.error, returncode=BAD_INPUT)
    return run


def print_table(run: Run) -> None:
    """A line a pod, columns as wide as needed, and a line of totals."""
    rows = [cells(result) for result in run.pod_results.all()]
    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS) - 1)]
    for row in [COLUMNS, *rows]:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip())
    counts = f"{run.placed} placed, {run.unschedulable} unschedulable, {run.gated} gated, {run.errors} errors"
    print(f"\n{counts}; {run.cycles_done} cycles, {run.pods_per_s:.0f} pods/s, Kubernetes {run.release}")


def cells(result: PodResult) -> tuple[str, ...]:
    """A pod's row."""
    numbers = ["" if value is None else str(value) for value in (result.score, result.margin)]
    message = result.message + (f" (evicted by {result.evicted_by})" if result.evicted_by else "")
    return (f"{result.namespace}/{result.name}", result.result, result.node, *numbers, message)
