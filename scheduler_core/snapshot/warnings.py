"""The warnings about a snapshot, for the page of an upload and for the warnings of its runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduler_core.cluster.formatting import agree, count, some
from scheduler_core.cycle.schedule_one import SKIPPED
from scheduler_core.snapshot.foreign_schedulers import NAMES
from scheduler_core.snapshot.preflight import Choices, Preflight
from scheduler_core.snapshot.workload_pods import number_of_pods

KUBECTL_VOLUMES = "kubectl get pv,pvc,sc,csinodes -A -o json"
SHOWN = 8
OF_SNAPSHOTS = (
    "absent-claims",
    "other-schedulers",
    "other-labels",
    "priority-class",
    "deleting",
    "workloads",
    "cron-jobs",
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning. `code`: one of OF_SNAPSHOTS; for a run also `priorities`, `storage-class` or `filled`.

    `counts`: the numbers in `message`, by what they count.
    """

    code: str
    message: str
    counts: Mapping[str, int] = field(default_factory=dict)


def remarks(preflight: Preflight, choices: Choices) -> list[Remark]:
    """Return the warnings, the most important first."""
    warnings = (_absent_claims, _other_schedulers, _marked, _unknown_classes, _deleting, _workloads, _cron_jobs)
    return [remark for warning in warnings for remark in warning(preflight, choices)]


def _absent_claims(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    absent = preflight.absent_claims
    if not absent:
        return
    pods = {pod for named in absent.values() for pod in named}
    claims, names = count(len(absent), "claim"), some(sorted(absent), SHOWN)
    naming = f"{count(len(pods), 'pod')} {agree(len(pods), 'name')} {claims}"
    if choices.absent_claims == "bound":
        message = f"{naming} missing from the snapshot: {names}. Missing claims count as bound to volumes "
        message += "without constraints."
    elif not preflight.claims:
        message = f"{naming}, but the snapshot has no claims. Add the output of `{KUBECTL_VOLUMES}`, "
        message += "or let a run treat missing claims as bound."
    else:
        message = f"{naming} missing from the snapshot: {names}. Upload all claims, "
        message += "or let a run treat missing claims as bound."
    yield Remark("absent-claims", message, {"claims": len(absent), "pods": len(pods)})


def _other_schedulers(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    others = preflight.others
    if not others:
        return
    counts = {name: len(pods) for name, pods in others.items()}
    pods = sum(counts.values())
    names = some(
        [f"{name or 'none'} ({counts[name]:,}: {some(waiting, 3)})" for name, waiting in others.items()], SHOWN
    )
    if choices.other_schedulers == "take":
        taken = agree(pods, "are taken by")
        message = f"{count(pods, 'pod')} of other schedulers {taken} {preflight.schedulers[0]}: {names}."
    else:
        waiting, left = agree(pods, "wait for another scheduler"), agree(pods, "are left to it")
        message = f"{count(pods, 'pod')} {waiting} and {left}: {names}. A run can take them."
    for name in others:
        if name in NAMES:
            message += f" {name} is the scheduler of {NAMES[name]}, which is not simulated."
    yield Remark("other-schedulers", message, counts)


def _marked(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    for project, pods in preflight.marked.items():
        have = f"{count(len(pods), 'pod')} {agree(len(pods), 'have')} labels or annotations of {project}"
        message = f"{have}, which is not simulated: kube-scheduler ignores them. {some(pods, SHOWN)}."
        yield Remark("other-labels", message, {project: len(pods)})


def _unknown_classes(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    unknown = preflight.unknown_classes
    if unknown:
        counts = {name: len(pods) for name, pods in unknown.items()}
        pods = [pod for named in unknown.values() for pod in named]
        names = some([f"{name} ({number:,})" for name, number in counts.items()], SHOWN)
        classes = count(len(unknown), "PriorityClass", "PriorityClasses")
        naming = f"{count(len(pods), 'pod')} {agree(len(pods), 'name')} {classes}"
        message = f"{naming} missing from the snapshot, and {agree(len(pods), 'count with priority 0')}: "
        yield Remark("priority-class", f"{message}{names}; {some(pods, SHOWN)}.", counts)


def _deleting(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    pods = preflight.deleting
    if pods:
        message = f"{count(len(pods), 'pod')} without a node {agree(len(pods), 'are being deleted')}: kube-scheduler "
        message += f"skips such pods, as here ({SKIPPED.format(pod=pods[0])}): {some(pods, SHOWN)}."
        yield Remark("deleting", message, {"pods": len(pods)})


def _workloads(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    made = {w.title: number_of_pods(w, preflight.nodes, preflight.release) for w in preflight.bare.workloads}
    if made:
        pods = sum(made.values())
        names = some([f"{title} ({number:,})" for title, number in made.items()], SHOWN)
        message = f"{count(pods, 'pod')} {agree(pods, 'are created')} for workloads without pods: {names}."
        yield Remark("workloads", message, made)


def _cron_jobs(preflight: Preflight, choices: Choices) -> Iterator[Remark]:
    jobs = preflight.bare.cron_jobs
    if jobs:
        message = f"{some(jobs, SHOWN)} {agree(len(jobs), 'create Jobs on a schedule')}; no run creates their pods."
        yield Remark("cron-jobs", message, {"CronJobs": len(jobs)})
