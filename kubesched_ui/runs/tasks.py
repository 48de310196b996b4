"""Celery tasks of runs: load, call the core, save, publish."""

import logging
import math
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any

import msgspec
from celery import shared_task
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from kubesched_ui.celery import periodic
from kubesched_ui.event_log.events import Event, event
from kubesched_ui.event_log.fork_copy import adopt_in_time
from kubesched_ui.event_log.log import OutOfTime, RunLog, read_blocks
from kubesched_ui.event_log.rows import Ended, Repeated, TimelineBatch
from kubesched_ui.event_log.single_pass_recorder import Computed
from kubesched_ui.event_log.virtual_time_recorder import ComputedInTime, Forked, RepeatedEvent
from kubesched_ui.housekeeping import disk_space
from kubesched_ui.ingest import chunked_store
from kubesched_ui.models import Cycle, Run
from kubesched_ui.observability.logs import REQUEST_ID, RUN_ID
from kubesched_ui.runs import (
    computation,
    compute_process,
    estimate,
    fork_execution,
    import_run,
    queue,
    services,
)
from kubesched_ui.runs.computation import Opening
from kubesched_ui.runs.compute_process import ComputingLost
from kubesched_ui.runtime.outages import DATABASE, FULL, outage_of
from kubesched_ui.websockets.publisher import Notifier
from kubesched_ui.work import leases

logger = logging.getLogger(__name__)

# A run of so many cycles, or of a cluster with so many objects, is loaded and computed by a process of its own. While
# the garbage collector examines a large cluster, no thread of its process writes heartbeats.
PROCESS_CYCLES, PROCESS_OBJECTS = 1000, 20_000
FULL_DISK_WAIT_S, FULL_DISK_MAX_WAIT_S = 5.0, 60.0  # seconds until a run that met a full disk checks again


@shared_task(name=services.TASKS["short"], acks_late=True)
def take_short(run_id: int) -> None:
    """Claim and finish the next short run, which need not be `run_id`."""
    execute_next(Run.Lane.SHORT, run_id)


@shared_task(name=services.TASKS["long"], acks_late=True)
def take_long(run_id: int) -> None:
    """Claim and finish the next long run, which need not be `run_id`."""
    execute_next(Run.Lane.LONG, run_id)


def execute_next(lane: str, message_run_id: int = 0) -> None:
    """Execute the next run of the queue, if there is one, and signal its end. `message_run_id`: the run of the message.
    Logs of another run do not carry the message's request id."""
    run = queue.claim_next(lane, leases.lease_token())
    if run is None:
        return
    RUN_ID.set(run.pk)
    if run.pk != message_run_id:
        REQUEST_ID.set("")
    try:
        execute(run)
    finally:
        services.run_finished.send(sender=Run, run_id=run.pk)
        if following := next(queue.queue_order(lane), None):  # its own message may have arrived too early
            services.notify_workers(lane, following.pk)


def execute_run(run_id: int) -> None:
    """Claim and finish a run. Ignore one that another worker holds or that is over."""
    run = Run.objects.claim(run_id, leases.lease_token())
    if run is not None:
        execute(run)


def execute(run: Run) -> None:
    """Finish a run that is claimed. If the disk is full, wait and continue."""
    with Notifier(run.pk) as notify:
        log = RunLog(run, notify)

        def end(state: str, error: str, unexpected: bool) -> None:
            if unexpected:  # without the data that could not be written
                log.run = Run.objects.get(pk=run.pk)
                log.clear()
            if unexpected or state == Run.State.CANCELLED:
                log.finish(state, error)
            else:
                finish(log.run, log, state, error)

        with leases.hold(run, end):
            while True:
                try:
                    limit = settings.RUN_SHORT_SECONDS * settings.RUN_SHORT_GRACE
                    limit = limit if run.lane == Run.Lane.SHORT else settings.RUN_TIME_LIMIT_S
                    log.deadline = time.monotonic() + limit
                    record(log.run, log)
                except OutOfTime:
                    handle_time_limit(log.run, log)
                except ComputingLost as error:
                    logger.warning("Run %s: %s", run.pk, error)
                    run.held().update(worker="", heartbeat_at=None)  # it counts as a start that lost its worker
                except DATABASE as error:
                    if outage_of(error) is not FULL:
                        raise
                    if stored := wait_for_disk_space(run):
                        log = RunLog(stored, notify)
                        continue
                return


def handle_time_limit(run: Run, log: RunLog) -> None:
    """Move a run that is too long for the short queue to the other one; fail a run that exceeds the limit."""
    if run.lane == Run.Lane.SHORT:
        logger.info("Run %s continues in the queue of long runs", run.pk)
        services.move_to_long_queue(run, settings.RUN_SHORT_SECONDS * settings.RUN_SHORT_GRACE)
        return
    limit = settings.RUN_TIME_LIMIT_S
    log.deadline = math.inf
    finish(run, log, Run.State.FAILED, f"The run exceeded the time limit of {limit:,} s.")


def wait_for_disk_space(run: Run) -> Run | None:
    """Wait for disk space and return the stored run to continue; None if this worker no longer holds it. The run does
    not fail, since it is not the cause, and other runs could not be recorded either."""
    wait = FULL_DISK_WAIT_S
    logger.warning("Run %s waits: %s", run.pk, FULL.message)
    while True:
        disk_space.notify_waiting()
        time.sleep(wait)
        wait = min(2 * wait, FULL_DISK_MAX_WAIT_S)  # each attempt starts over and repeats the stored cycles
        try:
            if disk_space.free_bytes() < disk_space.LEAST:
                continue
            held = run.held().update(heartbeat_at=Now())
        except DATABASE as error:
            logger.info("Run %s still waits: %s", run.pk, error)
            connection.close()  # its server may be gone
            continue
        disk_space.clear_waiting()
        return Run.objects.get(pk=run.pk) if held else None


def record(run: Run, log: RunLog) -> None:
    """Run the simulation and record it, from the beginning or from where an earlier worker was lost.

    A run is deterministic: after a loss, it repeats what is stored without writing it, and then continues. Raises
    Cancelled, LostClaim, InputError.
    """
    computed: Generator[Opening | Computed | ComputedInTime, None, None]
    if run.in_time:
        computed, large = computation.in_virtual_time(run), True
    else:
        if run.adopts and not run.last_seq:
            fork_execution.adopt(run)
        computed = computation.single_pass(run)
        large = estimate.cycles(run) >= PROCESS_CYCLES or sum(run.scenario.counts.values()) >= PROCESS_OBJECTS
    if large and compute_process.available():
        computed = compute_process.computed(computed)
    ended = Ended({})
    with closing(computed):
        for item in computed:
            match item:
                case Opening():
                    begin(run, log, item)
                case Repeated():
                    check_same(run, item.number, item.pod, item.result)
                case RepeatedEvent():
                    check_same_event(run, item.seq, item.event)
                case Forked():
                    if run.parent_id is not None:
                        adopt_in_time(run, run.parent_id, item.cycles + 1, item.seq)
                case TimelineBatch():
                    log.write_timeline(item)
                case Ended():
                    ended = item
                case _:
                    log.write(item)
    if run.in_time:
        run.clock = run.until or 0.0
    else:
        if run.is_fork:
            run.cycles_total = run.cycles_done  # its changes may have added or removed pods
        run.cycles_total = max(run.cycles_total, run.cycles_done)  # groups add members that were not requested
    log.set_nominations(ended.nominations)
    log.set_answers(ended.answers)
    finish(run, log, Run.State.DONE)


def begin(run: Run, log: RunLog, opening: Opening) -> None:
    """Write the beginning of a run, unless it is stored."""
    run.cycles_total = opening.cycles
    log.names_of = opening.names
    if opening.started:
        log.recorded, log.moves, log.names = opening.blocks, opening.moves, opening.pods
        log.add_events([event("run.started", 0.0, data=opening.started)])
        log.flush(node_names=opening.nodes, remaining=list(opening.names.positions))


def check_same_event(run: Run, seq: int, repeated: Event) -> None:
    """Raise RuntimeError if the repeated event differs from the stored one."""
    for _, text in read_blocks(run.pk, seq - 1, limit=1):
        (event,) = (e for e in msgspec.json.decode(text) if e["seq"] == seq)
        if event != msgspec.json.decode(msgspec.json.encode({"seq": seq, **repeated})):
            raise RuntimeError(f"event {seq} differs from the stored one")


def check_same(run: Run, number: int, pod: str, result: str) -> None:
    """Raise RuntimeError if the repeated cycle differs from the stored one, for instance after an update of
    KubeSched."""
    stored = Cycle.objects.get(run=run, number=number)
    if (f"{stored.namespace}/{stored.name}", stored.result) != (pod, result):
        raise RuntimeError(f"cycle {number} differs from the stored one")


def finish(run: Run, log: RunLog, state: str, error: str = "") -> None:
    """End the run; compare an imported one to its file."""
    done: dict[str, Any] = {"remaining": []} if state == Run.State.DONE else {}
    log.finish(state, error, **done, **import_run.compare_to_file(run, log.flush))


@periodic("RUN_SWEEP_EVERY_S")
def sweep() -> None:
    """Recover lost runs, and remove incomplete scenarios."""
    chunked_store.sweep()
    services.sweep()
