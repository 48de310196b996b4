"""Why a CronJob has created no Job, and so no pods.

Source: pkg/controller/cronjob/cronjob_controllerv2.go.
"""

from scheduler_core.cluster.formatting import listing
from scheduler_core.live.objects import CronJob
from scheduler_core.stations.refusals import read_refusal
from scheduler_core.stations.resource_quotas import quota_lines, quota_uses
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import MOST_READ, NOT_CREATED, Wait, quoted

CONTROLLER = "cronjob-controller"
REFUSED = "creation-refused"
SUSPENDED = "suspended"
WAITS_FOR_JOB = "waits-for-job"  # that still runs, by concurrencyPolicy Forbid
MISSED = "start-missed"  # too late, or by a schedule or time zone that cannot be read
REASONS = (
    *("FailedCreate", "JobAlreadyActive", "MissSchedule", "TooManyMissedTimes", "UnknownTimeZone", "FailedGet"),
    *("FailedDelete", "InvalidSchedule", "UnparseableSchedule", "UnParseableCronJobSchedule"),
)
"""Reasons of events about a time at which no Job was created."""


def wait_of(cron_job: CronJob, around: Surroundings) -> Wait | None:
    """Return why a CronJob created no Job at its last time; None if nothing says so, or a Job was created later."""
    if cron_job.metadata.deletion_timestamp:
        return None
    if cron_job.spec.suspend:
        since = seconds(cron_job.metadata.creation_timestamp)
        return Wait(NOT_CREATED, "It is suspended (spec.suspend), so no Job is created.", since=since, cause=SUSPENDED)
    event = around.events.last("CronJob", cron_job, REASONS, CONTROLLER)
    if event is None or seconds(event.time) < _last_created(cron_job, around):
        return None
    wait = Wait(NOT_CREATED, says=[f"{event.reason}: {quoted(event.message)}"], writer=event.reporter)
    wait.since, wait.cause = seconds(event.time), MISSED
    if event.reason == "FailedCreate":
        read = read_refusal(event.message, cron_job.namespace, around.store)
        wait.sentence, wait.cause = f"Its Job was not created: the API server refuses it: {read}.", REFUSED
        wait.quotas = quota_uses(event.message[:MOST_READ], cron_job.namespace, around.store, [])
        wait.says += quota_lines(wait.quotas, event.message)
    elif event.reason == "JobAlreadyActive":
        if not cron_job.status.active:
            return None
        names = listing([job.name for job in cron_job.status.active[:3]])
        wait.sentence = f"It creates no Job while Job {names} runs (concurrencyPolicy Forbid)."
        wait.cause = WAITS_FOR_JOB
    else:
        wait.sentence = f"Its Job was not created: {quoted(event.message)}."
    return wait


def _last_created(cron_job: CronJob, around: Surroundings) -> float:
    """Return the Unix seconds of the last time for which a Job was created, or at which one was; 0 if none is known."""
    return max(seconds(cron_job.status.last_schedule_time), around.last_job_of(cron_job))
