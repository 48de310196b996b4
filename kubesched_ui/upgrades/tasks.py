"""Celery task of an upgrade preview: it finds causes by replaying runs with some of the releases' changes."""

import time
from dataclasses import replace
from itertools import pairwise

from celery import shared_task
from django.conf import settings
from django.db.models.functions import Now

from kubesched_ui.celery import periodic
from kubesched_ui.models import Run, Upgrade
from kubesched_ui.queries.comparisons import inputs_of
from kubesched_ui.runs.build_simulation import nodes_before
from kubesched_ui.upgrades import services as upgrade_services
from kubesched_ui.work import leases
from kubesched_ui.work.models import Cancelled
from scheduler_core.compare.inputs import Inputs
from scheduler_core.compare.upgrade import PLANNED_RUNS, Watch, step
from scheduler_core.errors import InputError

PROGRESS_EVERY_S = 0.5


@shared_task(name=upgrade_services.EXPLAIN, acks_late=True)
def explain_upgrade(number: int) -> None:
    """Claim and finish a preview. Ignore one that another worker holds or that is over."""
    upgrade = Upgrade.objects.claim(number, leases.lease_token())
    if upgrade is None:
        return
    with leases.hold(upgrade, lambda state, error, _: upgrade.end(state, error)):
        explain(upgrade)
        assert len(upgrade.steps) == len(upgrade.releases) - 1, "each step is stored once"
        upgrade.end(Upgrade.State.DONE)


def explain(upgrade: Upgrade) -> None:
    """Add the missing steps, and store each when it is known. Raises Cancelled, LostClaim, InputError and
    NotRecorded."""
    runs = runs_of(upgrade)
    least = [PLANNED_RUNS for _ in pairwise(runs)]
    done, previous = 0, None
    for number, (a, b) in enumerate(pairwise(runs)):
        planned = sum(least[number + 1 :])
        if number < len(upgrade.steps):
            done += upgrade.steps[number]["runs"]
            continue
        before = previous if previous is not None else as_it_is(upgrade, a)
        previous = as_it_is(upgrade, b)
        watch = progress_callback(upgrade, done, planned)
        found = step(before, previous, watch, most_seconds=settings.UPGRADE_MAX_SECONDS)
        done += found.runs
        named = {"a": a.release_number, "b": b.release_number}
        upgrade.steps = [*upgrade.steps, found.as_dict() | named]
        upgrade.write(heartbeat_at=Now(), steps=upgrade.steps, done=done, planned=done + planned)


def as_it_is(upgrade: Upgrade, run: Run) -> Inputs:
    """Return the inputs of a run, with the nodes of the pods that it reschedules. Raises NotRecorded, InputError."""
    found = inputs_of(run)
    return replace(found, bound=nodes_before(run)) if upgrade.every and not run.in_time else found


def runs_of(upgrade: Upgrade) -> list[Run]:
    """Return the runs in the order of releases. Raises InputError if one is missing or did not finish."""
    found = upgrade.run_of()
    for release in upgrade.releases:
        run = found.get(release)
        if run is None:
            raise InputError("Upgrade", "", f"the run with release {release} was deleted")
        if run.state != Run.State.DONE:
            why = f": {run.error}" if run.error else ""
            raise InputError("Upgrade", "", f"run {run.pk}, with release {release}, is {run.state}{why}")
    return list(found.values())


def progress_callback(upgrade: Upgrade, done: int, planned: int) -> Watch:
    """Return a callback that stores progress and checks for cancellation. `done`, `planned`: runs of the other
    steps."""
    last = time.monotonic()

    def watch(played: int, to_play: int) -> None:
        nonlocal last
        if time.monotonic() - last < PROGRESS_EVERY_S:
            return
        last = time.monotonic()
        upgrade.write(heartbeat_at=Now(), done=done + played, planned=done + to_play + planned)
        if Upgrade.objects.filter(pk=upgrade.pk, cancel_requested=True).exists():
            raise Cancelled

    return watch


periodic("RUN_SWEEP_EVERY_S")(upgrade_services.sweep)
