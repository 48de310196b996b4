"""Runs: made from what a person asks for, put into the queue, cancelled, taken up again when their worker is gone."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from kubesched_ui import intime
from kubesched_ui.models import ClusterObject, Run, Scenario
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.plugins import REGISTRY
from scheduler_core.releases import RELEASES, get_release

if TYPE_CHECKING:
    from scheduler_core.scenario_run import ScenarioRun
    from scheduler_core.simulation import Simulation

logger = logging.getLogger(__name__)

MAX_SEED = 2**63 - 1
FINISHED = ("Succeeded", "Failed")
# What kubelet and scheduler write; gone when a pod is placed again.
PLACEMENT_STATUS = ("conditions", "hostIP", "hostIPs", "podIP", "podIPs", "startTime", "containerStatuses")


@dataclass(frozen=True)
class RunSettings:
    """What a person chooses for a run.

    `pods`: "ns/name" in the order of scheduling, None for all pending pods; a bound pod among them is unbound.
    `unbind`: further bound pods to place again. `template`: a Pod as YAML or JSON, of which `copies` are added.
    """

    release: str = "1.34"
    config: str = ""
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


def defaults(scenario: Scenario, in_time: bool | None = None) -> dict[str, Any]:
    """What a run of the scenario has where nothing else is said, as arguments of RunSettings.

    `in_time`: None for what suits the scenario. A run in time has what a Scenario document says of the scheduler.
    """
    in_time = bool(scenario.time) if in_time is None else in_time
    if not in_time:
        return {}
    release = next((name for name in RELEASES if scenario.kubernetes.lstrip("v").startswith(name)), "1.34")
    spec = intime.document(scenario.time).spec
    return {
        "in_time": True,
        "release": release,
        "config": scenario.config,
        "seed": spec.seed,
        "tie_break": spec.tie_break,
        "preemption": spec.preemption,
        "percentage": spec.percentage,
        "until": intime.until_of(scenario.time),
    }


def create_run(scenario: Scenario, wanted: RunSettings, send: bool = True) -> Run:
    """A queued run, its message sent once the transaction is committed. Raises InputError before anything is stored."""
    if wanted.in_time and wanted.until is None:
        wanted = replace(wanted, until=intime.until_of(scenario.time))
    validate(scenario, wanted)
    values = asdict(wanted) | {"release": get_release(wanted.release).name}
    run = Run.objects.create(scenario=scenario, **values)
    if send:
        transaction.on_commit(lambda: enqueue(run.pk))
    return run


def validate(scenario: Scenario, wanted: RunSettings) -> None:
    """Raises InputError that names the setting and what is wrong with it."""
    from scheduler_core.simulation import Simulation

    release = get_release(wanted.release)
    if wanted.config:
        registry = intime.PLUGINS if wanted.in_time else REGISTRY
        Simulation([], release=release.name, config=wanted.config, registry=registry)
    if not -MAX_SEED <= wanted.seed <= MAX_SEED:
        raise InputError("Run", "seed", "must be an integer of 64 bits")
    if wanted.tie_break not in Run.TieBreak.values:
        raise InputError("Run", "tie_break", f"must be one of {', '.join(Run.TieBreak.values)}")
    if wanted.percentage is not None and not 0 <= wanted.percentage <= 100:
        raise InputError("Run", "percentage", "must be between 0 and 100")
    if wanted.copies and not wanted.template:
        raise InputError("Run", "template", "is needed to make copies of")
    if wanted.template:
        pod_template(wanted.template)
        if not 1 <= wanted.copies <= settings.RUN_MAX_PODS:
            raise InputError("Run", "copies", f"must be between 1 and {settings.RUN_MAX_PODS}")
    if wanted.until is not None and not wanted.in_time:
        raise InputError("Run", "until", "is for runs in time")
    if wanted.until is not None and not 0 < wanted.until <= settings.RUN_MAX_SECONDS:
        days = settings.RUN_MAX_SECONDS / 86_400
        problem = f"must be more than 0 and at most {settings.RUN_MAX_SECONDS} s ({days:g} days), got {wanted.until:g}"
        raise InputError("Run", "until", problem)
    validate_pods(scenario, wanted)


def validate_pods(scenario: Scenario, wanted: RunSettings) -> None:
    """Raises InputError unless every pod named exists and is named once."""
    seen: set[str] = set()
    for name_of, names in (("pods", wanted.pods or []), ("unbind", wanted.unbind)):
        for index, name in enumerate(names):
            if name in seen:
                raise InputError("Run", f"{name_of}[{index}]", f"{name[:300]!r} is named twice")
            seen.add(name)
    if not seen:
        return
    rows = ClusterObject.objects.filter(scenario=scenario, kind="Pod").values_list("namespace", "name")
    missing = seen - {f"{namespace}/{name}" for namespace, name in rows.iterator()}
    if missing:
        shown = ", ".join(repr(name[:300]) for name in sorted(missing)[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError("Run", "pods", f"the scenario has no pod {shown}{more}; pods are named namespace/name")


def pod_template(text: str) -> dict[str, Any]:
    """The pod that `text` describes. Raises InputError."""
    documents = read_documents(text, "Pod template")
    if len(documents) != 1 or not isinstance(documents[0], dict) or documents[0].get("kind", "Pod") != "Pod":
        raise InputError("Pod template", "", "must be one object of kind Pod")
    pod = documents[0]
    if not isinstance(pod.get("spec"), dict) or not isinstance(pod.setdefault("metadata", {}), dict):
        raise InputError("Pod template", "spec", "must be a mapping, and so must metadata")
    return pod


def copies_of(template: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """`count` pods named NAME-1, NAME-2, ... in the template's namespace."""
    metadata = template["metadata"]
    base = str(metadata.get("name") or metadata.get("generateName") or "pod").rstrip("-")
    namespace = metadata.get("namespace") or "default"
    header = {"apiVersion": "v1", "kind": "Pod"}
    return [
        template | header | {"metadata": metadata | {"name": f"{base}-{n}", "namespace": namespace}}
        for n in range(1, count + 1)
    ]


def unbound(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod as it was before it was placed."""
    spec = {key: value for key, value in (pod.get("spec") or {}).items() if key != "nodeName"}
    status = {key: value for key, value in (pod.get("status") or {}).items() if key not in PLACEMENT_STATUS}
    return pod | {"spec": spec, "status": status | {"phase": "Pending"}}


def cluster_of(run: Run) -> tuple[list[dict[str, Any]], list[str] | None]:
    """The scenario's objects as the run wants them, and the pods to schedule in order (None: all pending)."""
    objects = list(run.scenario.objects_of())
    chosen = set(run.pods or []) | set(run.unbind)
    for index, obj in enumerate(objects):
        if obj.get("kind") == "Pod" and chosen and pod_key(obj) in chosen and (obj.get("spec") or {}).get("nodeName"):
            objects[index] = unbound(obj)
    copies = copies_of(pod_template(run.template), run.copies) if run.template else []
    if taken := {pod_key(pod) for pod in copies} & {pod_key(obj) for obj in objects if obj.get("kind") == "Pod"}:
        raise InputError("Pod template", "metadata.name", f"the cluster already has a pod {min(taken)}")
    pods = None if run.pods is None else [*run.pods, *run.unbind, *map(pod_key, copies)]
    return objects + copies, pods


def pod_key(pod: dict[str, Any]) -> str:
    """namespace/name."""
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def simulation_of(run: Run) -> tuple[Simulation, dict[str, str]]:
    """The core's simulation for `run`, and what the real cluster said of each pod ("ns/name" -> message)."""
    from scheduler_core.simulation import Simulation

    objects, pods = cluster_of(run)
    recorded = {pod_key(obj): message for obj in objects if (message := recorded_message(obj))}
    simulation = Simulation(
        objects,
        release=run.release,
        config=run.config or None,
        seed=run.seed,
        tie_break=run.tie_break,
        preemption=run.preemption,
        percentage=run.percentage,
        pods=pods,
    )
    return simulation, recorded


def scenario_run_of(run: Run) -> tuple[ScenarioRun, dict[str, str]]:
    """The core's run in time for `run`, bounded by the settings, and what the real cluster said of each pod."""
    from scheduler_core.scenario_run import ScenarioRun

    objects, pods = cluster_of(run)
    if pods is not None:
        chosen = set(pods)
        objects = [obj for obj in objects if not is_pending(obj) or pod_key(obj) in chosen]
    recorded = {pod_key(obj): message for obj in objects if (message := recorded_message(obj))}
    in_time = ScenarioRun(intime.scenario_of(run, objects), timer=time.perf_counter_ns)
    in_time.timeline.max_records = settings.RUN_MAX_RECORDS
    in_time.timeline.max_pods = settings.RUN_MAX_PODS
    return in_time, recorded


def is_pending(obj: dict[str, Any]) -> bool:
    """Whether an object is a pod without a node."""
    return obj.get("kind") == "Pod" and not (obj.get("spec") or {}).get("nodeName")


def recorded_message(obj: dict[str, Any]) -> str:
    """The message of a pod's condition PodScheduled, where it is False."""
    if obj.get("kind") != "Pod":
        return ""
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message") or "")
    return ""


def enqueue(run_id: int) -> None:
    """Sends the run's message. Where the broker is away the run stays queued, and `sweep` sends it again."""
    from kubesched_ui.tasks import execute_run

    Run.objects.filter(pk=run_id, state=Run.State.QUEUED).update(heartbeat_at=timezone.now())
    try:
        execute_run.delay(run_id)
    except (OperationalError, OSError) as error:
        logger.warning("Run %s waits for the broker: %s", run_id, error)


def cancel(run: Run) -> None:
    """Asks the worker to stop; a run that no worker has is over at once. A finished run stays as it is."""
    now = timezone.now()
    if not Run.objects.filter(pk=run.pk, state=Run.State.QUEUED).update(
        state=Run.State.CANCELLED, cancel_requested=True, finished_at=now
    ):
        Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(cancel_requested=True)
    run.refresh_from_db()


def sweep() -> None:
    """Finds runs that nobody works on, whatever the reason, and sends their message again. Safe to run anywhere.

    A run that has cost several workers their life is failed instead: it would cost the next one its life too.
    """
    for run in Run.objects.lost() | Run.objects.forgotten():
        if run.starts >= settings.RUN_MAX_STARTS:
            give_up(run)
        else:
            enqueue(run.pk)
    connection.close()


def give_up(run: Run) -> None:
    """Fails a lost run."""
    from kubesched_ui.eventlog import LostClaim, RunLog

    if claimed := Run.objects.claim(run.pk, f"sweep:{run.pk}"):
        try:
            RunLog(claimed).finish(
                Run.State.FAILED, f"Its worker was lost {run.starts} times; it may need more memory."
            )
        except LostClaim:
            logger.info("Run %s was taken up after all", run.pk)
