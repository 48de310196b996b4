"""Operations on upgrade previews: create, dispatch to a worker when their runs are over, cancel, recover."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.dispatch import receiver

from kubesched_ui.housekeeping import quota
from kubesched_ui.models import Run, Scenario, Upgrade
from kubesched_ui.runs import config_resolution, services, suggested_comparisons
from kubesched_ui.runs.release_choices import in_order, is_release
from kubesched_ui.runs.scoring import Scoring, scored
from kubesched_ui.scenarios import podgroups, stored_cluster, virtual_time
from kubesched_ui.work import leases
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.feature_gates import with_known_gates

EXPLAIN = "kubesched.explain_upgrade"
MAX_RELEASES = 50  # more than there are minor releases


def create_upgrade(
    scenario: Scenario, releases: Sequence[str], every: bool = False, chosen: Scoring | None = None
) -> Upgrade:
    """Create a queued preview with its runs. Existing runs with the same settings are reused.

    `releases`: names of minor or patch releases. With `every`, placed pods are scheduled again. `chosen`: the scoring
    of all runs. Raises InputError.
    """
    names = in_order({get_release(name).name for name in releases})
    if gated := [name for name in names if not is_release(name)]:
        raise InputError("Upgrade", "releases", f"must be without feature gates, got {min(gated)!r}")
    if len(names) < 2:
        there = f"{', '.join(RELEASES)} and their patch releases"
        raise InputError("Upgrade", "releases", f"must list at least two of the releases {there}")
    if len(names) > MAX_RELEASES:
        raise InputError("Upgrade", "releases", f"must list at most {MAX_RELEASES} releases, got {len(names)}")
    alike: dict[str, Any] = {"tie_break": Run.TieBreak.NAME}
    if every:
        pods = stored_cluster.cluster_of_scenario(scenario).pods_where(lambda pod: pod.reschedulable)
        alike["unbind"] = [pod.key for pod in pods]
    gates = virtual_time.document(scenario.time).spec.feature_gates if scenario.time else podgroups.gates_for(scenario)
    runs = []
    with transaction.atomic(), quota.as_one():
        for name in names:
            release = with_known_gates(get_release(name), gates).name
            unusable = config_resolution.refusal(scenario.config, release, "error")
            config = "" if unusable else scenario.config
            own = {"release": release, "config": scored(config, release, chosen or Scoring())}
            runs.append(suggested_comparisons.run_with(scenario, alike | own))
        upgrade = Upgrade.objects.create(scenario=scenario, releases=names, every=every)
        upgrade.runs.set(runs)
        transaction.on_commit(lambda: send_if_ready(upgrade.pk))
    return upgrade


def send_if_ready(number: int) -> None:
    """Send a preview to a worker if all its runs are over."""
    if Run.objects.active().filter(upgrades=number).exists():
        return
    Upgrade.objects.filter(pk=number, state=Upgrade.State.QUEUED).update(heartbeat_at=Now())
    leases.send(EXPLAIN, number)


@receiver(services.run_finished)
def run_is_over(run_id: int, **_: Any) -> None:
    """Continue the previews that waited for this run."""
    for number in Upgrade.objects.filter(runs=run_id, state=Upgrade.State.QUEUED).values_list("pk", flat=True):
        send_if_ready(number)


def cancel(upgrade: Upgrade) -> None:
    """Cancel a waiting preview, or ask the worker of a running one to stop. Cancel runs that no other preview waits
    for."""
    if Upgrade.objects.cancel(upgrade):
        for run in Run.objects.active().filter(upgrades=upgrade):
            if not run.upgrades.active().exists():
                services.cancel(run)


def sweep() -> None:
    """Find previews without an active worker and send them again. Safe to run in any process."""
    leases.sweep(Upgrade.objects.all(), lambda it, problem: it.end(Upgrade.State.FAILED, problem), send_if_ready)
