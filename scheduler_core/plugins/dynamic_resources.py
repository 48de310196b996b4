"""DynamicResources: devices for a pod's resource claims. Allocation is not simulated, pods that need it are refused.

Upstream: pkg/scheduler/framework/plugins/dynamicresources.
"""

from typing import Any

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    CycleState,
    Filtered,
    FilterPlugin,
    Int64,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    Rows,
    ScorePlugin,
    Status,
    Verdict,
    default_normalize,
    unresolvable,
    unschedulable,
)
from scheduler_core.provenance.scores import by_highest
from scheduler_core.provenance.tree import Tree, constant, equal, opposite, some
from scheduler_core.provenance.view import View

UNSUPPORTED = unresolvable("pod uses resourceClaims, which are not supported yet")
NOTHING_TO_FREE = unschedulable("no new claims to deallocate")


class DynamicResources(PreFilterPlugin, FilterPlugin, PostFilterPlugin, ScorePlugin):
    name = "DynamicResources"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        return UNSUPPORTED if pod.pod.spec.resource_claims else SKIPPED

    def explain_pre_filter(self, state: CycleState, view: View) -> Tree:
        claims = range(len(view.pod.pod.spec.resource_claims))
        names = [view.field(view.pod, "spec", "resourceClaims", i, "name") for i in claims]
        parts = [opposite(equal(name, constant("")), f"claim {name.value}") for name in names]
        return some(parts, "resource claims of the pod").tells(UNSUPPORTED.message)

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return PASSES

    def explain_filter(self, state: CycleState, view: View) -> Tree:
        return constant(False, "devices are not allocated here").tells("DynamicResources refuses no node")

    def post_filter(self, state: CycleState, pod: PodInfo, cycle: Any) -> tuple[PostFilterResult | None, Status]:
        """Upstream would take allocations away from claims that no pod uses; there are none."""
        return None, NOTHING_TO_FREE

    def explain_post_filter(self, state: CycleState, view: View, filtered: Filtered, found: PostFilterResult) -> Tree:
        return constant(False, "there are no claims to deallocate").tells("DynamicResources makes no room")

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """0: without claims no node offers better devices than another."""
        return np.zeros(len(self.cluster.nodes), np.int64)[rows]

    def explain_score(self, state: CycleState, view: View) -> Tree:
        return constant(0, "no devices are chosen").tells("0 = the pod has no claims, whose devices would count")

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        return default_normalize(scores, reverse=False)

    def explain_normalize(self, state: CycleState, view: View, raw: Tree, scores: Int64) -> Tree:
        return by_highest(view, raw, scores, reverse=False)
