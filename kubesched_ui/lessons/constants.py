"""Upstream constants that lessons may use, read from the modules of the core that define them."""

from collections.abc import Callable
from typing import Any

from kubesched_ui.lessons import event_recorder
from kubesched_ui.lessons.formatting import Amount, Seconds
from scheduler_core.api.devices import MAX_SUB_REQUESTS
from scheduler_core.api.duration import seconds
from scheduler_core.api.scheduler_config import File
from scheduler_core.cluster import resources
from scheduler_core.controllers import admission
from scheduler_core.cycle import schedule_one
from scheduler_core.framework.interface import MAX_NODE_SCORE
from scheduler_core.legacy.priorities import MAX_PRIORITY
from scheduler_core.plugins import image_locality
from scheduler_core.plugins.default_preemption import DefaultPreemptionArgs
from scheduler_core.queue import scheduling_queue
from scheduler_core.releases import get_release

_MB = 1024 * 1024
HIGHEST_USER_PRIORITY = 10**9  # pkg/apis/scheduling/types.go, HighestUserDefinablePriority
JITTER_FACTOR = 1.2  # client-go tools/leaderelection/leaderelection.go


CONSTANTS: dict[str, Callable[[], Any]] = {
    "default cpu": lambda: Amount.new("cpu", resources.DEFAULT_CPU_NANO // 10**6),
    "default memory": lambda: Amount.new("memory", resources.DEFAULT_MEMORY_NANO // 10**9),
    "max score": lambda: MAX_NODE_SCORE,
    "smallest image": lambda: f"{image_locality.MIN_THRESHOLD // _MB} MiB",
    "largest image": lambda: f"{image_locality.MAX_CONTAINER_THRESHOLD // _MB:,} MiB",
    "initial backoff": lambda: Seconds(File().pod_initial_backoff_seconds),
    "max backoff": lambda: Seconds(File().pod_max_backoff_seconds),
    "backoff flush": lambda: Seconds(1),
    "leftover flush": lambda: Seconds(scheduling_queue.LEFTOVER_PERIOD),
    "longest unschedulable": lambda: Seconds(scheduling_queue.leftover_seconds(get_release("1.34"))),
    "old longest unschedulable": lambda: Seconds(scheduling_queue.leftover_seconds(get_release("1.16"))),
    "default toleration": lambda: Seconds(admission.DEFAULT_TOLERATION_SECONDS),
    "old max score": lambda: MAX_PRIORITY,
    "fewest feasible": lambda: schedule_one.MIN_FEASIBLE_NODES,
    "event series end": lambda: Seconds(event_recorder.SERIES_END),
    "event refresh": lambda: Seconds(event_recorder.REFRESH),
    "parallelism": lambda: File().parallelism,
    "lease duration": lambda: Seconds(seconds(File().leader_election.lease_duration)),
    "renew deadline": lambda: Seconds(seconds(File().leader_election.renew_deadline)),
    "retry period": lambda: Seconds(seconds(File().leader_election.retry_period)),
    "most alternatives": lambda: MAX_SUB_REQUESTS,
    "longest retry": lambda: Seconds(seconds(File().leader_election.retry_period) * (1 + JITTER_FACTOR)),
    "highest user priority": lambda: HIGHEST_USER_PRIORITY,
    "adaptive percentage": lambda: schedule_one.ADAPTIVE_PERCENTAGE,
    "nodes per percent": lambda: schedule_one.NODES_PER_PERCENT,
    "fewest candidates": lambda: DefaultPreemptionArgs().min_candidate_nodes_absolute,
    "smallest percentage": lambda: schedule_one.MIN_FEASIBLE_PERCENTAGE,
}
