"""`manage.py simulate FILE...`: uploads, runs and prints the outcome without a browser."""

import logging
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from kubesched_ui.ingest import IngestError, preflight
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.models import PodResult, Run, Scenario
from kubesched_ui.presenters.cycle_rows import warnings_of
from kubesched_ui.queries.answers import answers_of_run
from kubesched_ui.runs import build_simulation, services
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios import uploads
from kubesched_ui.scenarios.upload_worker import File
from scheduler_core.cluster.formatting import count
from scheduler_core.commands.progress import Progress
from scheduler_core.commands.simulate import write_row
from scheduler_core.config import UnknownPlugins, UnreadPolicy
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release, with_gates
from scheduler_core.releases.feature_gates import parse
from scheduler_core.releases.remarks import default_release_note

PENDING, BAD_INPUT = 1, 2
MOST_SENTENCES = 50  # reasons for pending pods
COLUMNS = ("pod", "result", "node", "score", "margin", "message")


class Command(OwnCommand):
    help = (
        "Schedules the pending pods of a cluster and prints the node of each, or why there is none; for a Scenario "
        "with a timeline, prints the events. Exit code 1: a pod stays pending; 2: invalid input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("files", nargs="+", metavar="FILE", help="kubectl output, dumps, archives; - is stdin")
        add("--release", help=f"Kubernetes release (default: the release of the cluster if it is known, else {NEWEST})")
        gates = "feature gates that differ from the release's defaults"
        add("--feature-gates", metavar="A=true,B=false", help=gates)
        choice = parser.add_mutually_exclusive_group()
        given = "a KubeSchedulerConfiguration (default: the one in the files)"
        choice.add_argument("--config", metavar="FILE", help=given)
        default = "use the release's default configuration, even if the files contain another"
        choice.add_argument("--default-config", action="store_true", help=default)
        add("--leave-out-unknown", action="store_true", help="ignore unknown plugins")
        add("--seed", type=int)
        add("--tie-break", choices=Run.TieBreak.values)
        add("--percentage", type=int, help="percentageOfNodesToScore")
        add("--no-preemption", action="store_true")
        add(
            "--pods",
            nargs="+",
            metavar="NS/NAME",
            help="schedule only these pods, in this order; bound ones leave their node first",
        )
        add("--unbind", nargs="+", default=[], metavar="NS/NAME", help="further bound pods to schedule again")
        add("--in-time", action="store_true", help="simulate virtual time: pods wait, back off and retry")
        add("--one-pass", action="store_true", help="one cycle per pod, even for a Scenario with a timeline")
        add("--until", type=float, metavar="SECONDS", help="end of a run in virtual time")
        others = "schedule pods of schedulers that are not configured with the default profile"
        add("--take-other-schedulers", action="store_true", help=others)
        absent = "treatment of claims that are not in the files (default: error)"
        add("--absent-claims", choices=Run.AbsentClaims.values, help=absent)
        add("--keep", action="store_true", help="keep the scenario and the run for the browser")

    def handle(self, *args: Any, **options: Any) -> None:
        settings.INGEST_ISOLATED = False
        logging.getLogger("kubesched_ui").setLevel(logging.WARNING)
        call_command("migrate", verbosity=0)
        try:
            made = uploads.store_upload([read(name) for name in options["files"]], origin=Scenario.Origin.API)
        except (IngestError, OSError) as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from None
        scenario = made.scenario
        if made.run:
            self.stderr.write("The run of the run file is ignored; import it with `manage.py ingest`")
        try:
            run = run_to_the_end(scenario, options)
            if not options["release"]:
                self.stderr.write(default_release_note(run.release, scenario.kubernetes))
            for warning in [*remarks_of(scenario), *warnings_of(run)]:
                self.stderr.write(warning)
            (print_time if run.in_time else print_table)(run)
        finally:
            if not options["keep"]:
                scenario.delete()
        left = run.unschedulable + run.gated + run.errors if run.in_time else run.cycles_total - run.placed
        if left or run.state != Run.State.DONE:
            sys.exit(PENDING)


def read(name: str) -> File:
    """Return a file in the form of an upload."""
    return ("stdin", sys.stdin.buffer.read()) if name == "-" else (Path(name).name, Path(name))


def remarks_of(scenario: Scenario) -> list[str]:
    """Return the warnings about the files, without those that the run repeats."""
    return [remark["message"] for remark in preflight.about_files(scenario.warnings)]


def read_text(name: str | None) -> str | None:
    """Return the text of a file; None without a name."""
    return None if name is None else Path(name).read_text()


def run_to_the_end(scenario: Scenario, options: dict[str, Any]) -> Run:
    """Return the finished run. This process executes it, unless a worker takes it first."""
    try:
        in_time = False if options["one_pass"] else options["in_time"] or None
        given = {
            "release": options["release"],
            "config": "" if options["default_config"] else read_text(options["config"]),
            "unknown_plugins": "leave_out" if options["leave_out_unknown"] else None,
            "seed": options["seed"],
            "tie_break": options["tie_break"],
            "preemption": False if options["no_preemption"] else None,
            "percentage": options["percentage"],
            "pods": options["pods"],
            "unbind": options["unbind"],
            "until": options["until"],
            "other_schedulers": Run.OtherSchedulers.TAKE if options["take_other_schedulers"] else None,
            "absent_claims": options["absent_claims"],
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        wanted = services.RunSettings(**services.defaults(scenario, in_time) | chosen)
        if gates := parse(options["feature_gates"] or ""):
            wanted = replace(wanted, release=with_gates(get_release(wanted.release), gates).name)
        run = services.create_run(scenario, wanted, send=False)
    except UnknownPlugins as error:
        way_out = "" if error.rest else "; --leave-out-unknown ignores them"
        raise CommandError(f"{error}{way_out}", returncode=BAD_INPUT) from None
    except UnreadPolicy as error:
        instead = f"\nThe equivalent configuration:\n\n{error.instead}" if error.instead else ""
        raise CommandError(f"{error}{instead}", returncode=BAD_INPUT) from None
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise CommandError(str(error), returncode=BAD_INPUT) from None
    with progress_of(run):
        execute_run(run.pk)
    run.refresh_from_db()
    while run.active:
        time.sleep(0.2)
        run.refresh_from_db()
    if run.state == Run.State.FAILED:
        raise CommandError(run.error, returncode=BAD_INPUT)
    return run


@contextmanager
def progress_of(run: Run) -> Iterator[None]:
    """Show on a terminal how many cycles of the run are done."""
    progress, ended = Progress("cycles"), Event()

    def watch() -> None:
        while not ended.wait(0.5):
            done, progress.total = Run.objects.values_list("cycles_done", "cycles_total").get(pk=run.pk)
            progress.step(done)
        connection.close()

    thread = Thread(target=watch, daemon=True)
    if sys.stderr.isatty():
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()
        progress.end()


def print_time(run: Run) -> None:
    """Print one line per event, as `python -m scheduler_core simulate` does, and a line of totals."""
    for record in build_simulation.start_in_virtual_time(run)[0].run():
        write_row(record, sys.stdout)
    print()
    print(totals(run))


def print_table(run: Run) -> None:
    """Print one line per pod, with columns as wide as needed, and a line of totals."""
    rows = [cells(result) for result in run.pod_results.all()]
    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS) - 1)]
    for row in [COLUMNS, *rows]:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip())
    print()
    for sentence in sentences(run):
        print(sentence)
    print(totals(run))


def sentences(run: Run) -> Iterator[str]:
    """Yield why pods are pending: a sentence for each workload and reason, with the number of its pods."""
    rows = answers_of_run(run)
    for row in rows[:MOST_SENTENCES]:
        workload = f"{row.namespace}/{row.name} ({count(row.number, 'pod')})"
        yield f"{row.pod if row.number == 1 else workload}: {row.sentence}"
    if len(rows) > MOST_SENTENCES:
        yield f"and {len(rows) - MOST_SENTENCES:,} more reasons; --keep stores the run for the browser"
    if rows:
        yield ""


def totals(run: Run) -> str:
    """Return a summary of the run."""
    counts = f"{run.placed} placed, {run.unschedulable} unschedulable, {run.gated} gated, {run.errors} errors"
    if run.nominated or run.evicted:
        counts += f"; {run.nominated} of the unschedulable nominated, {run.evicted} evicted"
    return f"{counts}; {run.cycles_done} cycles, {run.pods_per_s:.0f} pods/s, Kubernetes {run.release}"


def cells(result: PodResult) -> tuple[str, ...]:
    """Return the cells of a pod's row."""
    numbers = ["" if value is None else str(value) for value in (result.score, result.margin)]
    message = result.message + (f" (evicted by {result.evicted_by})" if result.evicted_by else "")
    outcome = ("nominated", result.nominated_node) if result.nominated_node else (result.result, result.node)
    return (f"{result.namespace}/{result.name}", *outcome, *numbers, message)
