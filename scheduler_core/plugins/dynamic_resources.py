"""DynamicResources: devices for a pod's resource claims. Allocation is not simulated, pods that need it are refused.

Upstream: pkg/scheduler/framework/plugins/dynamicresources.
"""

from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    CycleState,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    Verdict,
    unresolvable,
    unschedulable,
)

UNSUPPORTED = unresolvable("pod uses resourceClaims, which are not supported yet")
NOTHING_TO_FREE = unschedulable("no new claims to deallocate")


class DynamicResources(PreFilterPlugin, FilterPlugin, PostFilterPlugin):
    name = "DynamicResources"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        return UNSUPPORTED if pod.pod.spec.resource_claims else SKIPPED

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return PASSES

    def post_filter(self, state: CycleState, pod: PodInfo, cycle: Any) -> tuple[PostFilterResult | None, Status]:
        """Upstream would take allocations away from claims that no pod uses; there are none."""
        return None, NOTHING_TO_FREE
