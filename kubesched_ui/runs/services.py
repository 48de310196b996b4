"""Operations on runs: create, enqueue, cancel, and recover after the loss of a worker."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.dispatch import Signal, receiver

from kubesched_ui.event_log.log import RunLog
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.models import ClusterObject, Run, Scenario
from kubesched_ui.runs import config_resolution, estimate, pod_template
from kubesched_ui.runs.summary import differences
from kubesched_ui.scenarios import podgroups, stored_cluster, virtual_time
from kubesched_ui.work import leases
from scheduler_core.cluster.formatting import count, some
from scheduler_core.config import Unknown
from scheduler_core.config.unknown_plugins import CHOICES
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release, remarks
from scheduler_core.releases.feature_gates import spelled
from scheduler_core.releases.remarks import cluster_remarks
from scheduler_core.snapshot.preflight import Choices

# Names of the tasks by queue, so that this module need not import the tasks.
TASKS = {Run.Lane.SHORT.value: "kubesched.take_short", Run.Lane.LONG.value: "kubesched.take_long"}

run_finished = Signal()  # sent when a worker has finished the run `run_id`

MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class RunSettings:
    """Settings that a user chooses for a run.

    `release`: may include feature gates, `1.36 A=true,B=false`. `pods`: "ns/name" of the only pods to schedule,
    None for all pending pods; a bound pod among them is unbound. `unbind`: further bound pods to schedule again.
    `template`: a Pod as YAML or JSON, of which `copies` are added, or a workload whose pods are added. `config`: "" is
    the release's default, None the uploaded configuration if it is usable. `other_schedulers`, `absent_claims`: as for
    the core's Choices.
    """

    release: str = NEWEST
    config: str | None = None
    unknown_plugins: Unknown = "error"
    seed: int = 0
    tie_break: str = Run.TieBreak.SEED
    preemption: bool = True
    percentage: int | None = None
    pods: list[str] | None = None
    unbind: list[str] = field(default_factory=list)
    template: str = ""
    copies: int = 0
    in_time: bool = False
    until: float | None = None
    other_schedulers: str = Run.OtherSchedulers.LEAVE
    absent_claims: str = Run.AbsentClaims.ERROR


def defaults(scenario: Scenario, in_time: bool | None = None) -> dict[str, Any]:
    """Return the default settings of the scenario, as arguments of RunSettings.

    `in_time`: None selects what suits the scenario. In virtual time, a Scenario document defines the scheduler
    settings. The release is the cluster's own or the nearest, or else the newest, with the feature gates that its
    pod groups need.
    """
    in_time = bool(scenario.time) if in_time is None else in_time
    usual = podgroups.suitable_release(scenario, default_release(scenario))
    if not in_time:
        return {"release": usual.name}
    spec = virtual_time.document(scenario.time).spec
    release = f"{usual.number} {spelled({**usual.feature_gates, **spec.feature_gates})}".strip()
    return {
        "in_time": True,
        "release": release,
        "seed": spec.seed,
        "tie_break": spec.tie_break,
        "preemption": spec.preemption,
        "percentage": spec.percentage,
        "until": virtual_time.default_end(scenario.time),
    }


def own_release(scenario: Scenario) -> str:
    """Return the cluster's release, "" if it is unknown or unsupported."""
    try:
        return get_release(scenario.kubernetes).name
    except InputError:
        return ""


def default_release(scenario: Scenario) -> str:
    """Return the cluster's release or the nearest one; the newest if the version is unknown."""
    return own_release(scenario) or remarks.default_release(scenario.kubernetes)


def settings_of(run: Run) -> RunSettings:
    """Return the settings of a run, to create another one with the same settings."""
    return RunSettings(**{field.name: getattr(run, field.name) for field in fields(RunSettings)})


def create_run(scenario: Scenario, wanted: RunSettings, send: bool = True, name: str = "", low: bool = False) -> Run:
    """Create a queued run; the message to the workers is sent after the transaction is committed. Raises InputError, or
    ServiceUnavailable if disk space is low, before anything is stored."""
    disk_space.check_space()
    if wanted.in_time and wanted.until is None:
        wanted = replace(wanted, until=virtual_time.default_end(scenario.time))
    release = get_release(wanted.release).name
    if wanted.unknown_plugins not in CHOICES:
        raise InputError("Run", "unknown_plugins", f"must be one of {', '.join(CHOICES)}")
    config, notes = config_resolution.chosen(scenario, wanted.config, release, wanted.unknown_plugins)
    validate(scenario, wanted)
    wanted = replace(wanted, unbind=without(wanted.unbind, wanted.pods or []))  # `pods` also unbinds
    wanted, staying = without_unscheduled_pods(scenario, wanted)
    notes += staying
    if wanted.template:
        copies, unknown = wanted.copies, wanted.unknown_plugins
        notes += pod_template.remarks(scenario, wanted.template, copies, release, config, unknown)
    notes += podgroups.pod_group_warnings(scenario, release)
    notes += cluster_remarks(scenario.kubernetes, release)
    values = asdict(wanted) | {"release": release, "config": config, "notes": notes}
    summary = differences(replace(wanted, config=config, release=release), RunSettings())
    with transaction.atomic():
        quota.check_run(scenario, wanted.pods, wanted.copies)
        run = Run.objects.create(scenario=scenario, name=name, low=low, summary="\n".join(summary), **values)
        if send:
            transaction.on_commit(lambda: enqueue(run.pk))
    return run


def validate(scenario: Scenario, wanted: RunSettings) -> None:
    """Raise InputError with the invalid setting and the problem."""
    if not -MAX_SEED <= wanted.seed <= MAX_SEED:
        raise InputError("Run", "seed", "must be an integer of 64 bits")
    if wanted.tie_break not in Run.TieBreak.values:
        raise InputError("Run", "tie_break", f"must be one of {', '.join(Run.TieBreak.values)}")
    if wanted.percentage is not None and not 0 <= wanted.percentage <= 100:
        raise InputError("Run", "percentage", "must be between 0 and 100")
    if wanted.copies and not wanted.template:
        raise InputError("Run", "template", "is required for copies")
    if wanted.template:
        pod_template.check(wanted.template, wanted.copies)
    Choices.parse(wanted.other_schedulers, wanted.absent_claims)
    if wanted.until is not None and not wanted.in_time:
        raise InputError("Run", "until", "is only for runs in virtual time")
    if wanted.until is not None and not 0 < wanted.until <= settings.RUN_MAX_SECONDS:
        days = settings.RUN_MAX_SECONDS / 86_400
        problem = f"must be more than 0 and at most {settings.RUN_MAX_SECONDS} s ({days:g} days), got {wanted.until:g}"
        raise InputError("Run", "until", problem)
    validate_pods(scenario, wanted)


def without(names: list[str], others: list[str]) -> list[str]:
    """Return the names that are not among the others."""
    left_out = set(others)
    return [name for name in names if name not in left_out]


def validate_pods(scenario: Scenario, wanted: RunSettings) -> None:
    """Raise InputError unless every named pod exists and is named once in a list."""
    seen: set[str] = set()
    for name_of, names in (("pods", wanted.pods or []), ("unbind", wanted.unbind)):
        if len(set(names)) < len(names):
            index = next(i for i, name in enumerate(names) if name in names[:i])
            raise InputError("Run", f"{name_of}[{index}]", f"{names[index][:300]!r} is listed twice")
        seen.update(names)
    if not seen:
        return
    rows = ClusterObject.objects.filter(scenario=scenario, kind="Pod").values_list("namespace", "name")
    missing = seen - {f"{namespace}/{name}" for namespace, name in rows.iterator()}
    if missing:
        shown = ", ".join(repr(name[:300]) for name in sorted(missing)[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError("Run", "pods", f"the scenario has no pod {shown}{more}; pods are named namespace/name")


def without_unscheduled_pods(scenario: Scenario, wanted: RunSettings) -> tuple[RunSettings, list[str]]:
    """Return the settings without the bound pods that no scheduler placed, which stay on their nodes, and notes about
    them."""
    named = [*(wanted.pods or []), *wanted.unbind]
    if not named:
        return wanted, []
    if len(named) > stored_cluster.AT_ONCE:
        pods = stored_cluster.cluster_of_scenario(scenario).pods_where(lambda pod: bool(pod.placed_by))
    else:
        pods = iter(stored_cluster.pods_of_scenario(scenario, named).values())
    placers = {pod.key: pod.placed_by for pod in pods if pod.stays}
    staying = {key: placers[key] for key in named if key in placers}
    notes = []
    for placer, kind in (("kubelet", "static pod"), ("DaemonSet controller", "DaemonSet pod")):
        if keys := [key for key in named if staying.get(key) == placer]:
            stay, them = ("stays on its node", "it") if len(keys) == 1 else ("stay on their nodes", "them")
            because = f"because the {placer} placed {them} and not a scheduler"
            notes.append(f"{count(len(keys), kind)} {stay}, {because}: {some(keys)}.")
    left = None if wanted.pods is None else [key for key in wanted.pods if key not in staying]
    return replace(wanted, pods=left, unbind=[key for key in wanted.unbind if key not in staying]), notes


def enqueue(run_id: int) -> None:
    """Assign the run to a queue and notify the workers. If the broker is unavailable, the run stays queued and `sweep`
    notifies again."""
    run = Run.everything.select_related("scenario", "parent").defer("node_names").filter(pk=run_id).first()
    if run is None:
        return
    changes: dict[str, Any] = {"heartbeat_at": Now()}
    if not run.lane:
        estimated = estimate.before(run.scenario, run.release, run.in_time, estimate.pods_of(run))
        run.lane = changes["lane"] = estimated.lane
        changes["estimate_s"] = estimated.seconds
    Run.everything.filter(pk=run_id, state=Run.State.QUEUED).update(**changes)
    notify_workers(run.lane, run_id)


def notify_workers(lane: str, run_id: int) -> None:
    """Notify the workers of a queue that a run waits. They query the database for the next one (`queue.claim_next`)."""
    leases.send(TASKS[lane], run_id)


@receiver(leases.released, sender=Run)
def run_is_released(number: int, **_: Any) -> None:
    """Notify the other workers of a run that a worker that stops has released."""
    enqueue(number)


def move_to_long_queue(run: Run, played_s: float) -> None:
    """Move a run that takes longer than estimated to the queue of long runs. Its recorded data is kept."""
    so_far = played_s * max(1.0, run.cycles_total / run.cycles_done if run.cycles_done and not run.in_time else 1.0)
    run.held().update(
        state=Run.State.QUEUED,
        lane=Run.Lane.LONG,
        estimate_s=round(max(so_far, run.estimate_s or 0.0, settings.RUN_SHORT_SECONDS), 1),
        starts=F("starts") - 1,
        worker="",
    )
    enqueue(run.pk)


def cancel(run: Run) -> None:
    """Ask the worker to stop; a run without a worker is cancelled at once. A finished run does not change."""
    Run.objects.cancel(run)


def sweep() -> None:
    """Find runs without an active worker and send their messages again. Safe to run in any process."""
    leases.sweep(Run.objects.all(), lambda run, problem: RunLog(run).finish(Run.State.FAILED, problem), enqueue)
