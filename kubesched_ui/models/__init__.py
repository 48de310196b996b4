"""Stored data: scenarios (uploaded clusters), runs (simulations of a scenario) and everything that a run records.

Scenario 1-n ClusterObject; Scenario 1-n Run; Run 1-n EventBlock, Cycle, CycleBatch, GroupCycle, PodResult,
WorkloadAnswer; with virtual time also NodeList, Moves, Marks.
Scenario 1-n Upgrade n-n Run: a preview of releases.
Scenario 1-n WrittenLesson: a lesson that a user writes about the scenario.
"""

from kubesched_ui.models.base import MAX_NAME, VisibleManager, is_number, owned
from kubesched_ui.models.quotas import Quota, Retention
from kubesched_ui.models.records import (
    NO_NODE,
    NOMINATED,
    Breakpoint,
    Cycle,
    CycleBatch,
    EventBlock,
    GroupCycle,
    Marks,
    Moves,
    NodeList,
    PodResult,
    RecordingBlock,
    WorkloadAnswer,
)
from kubesched_ui.models.runs import MAX_RELEASE, Run, RunQuerySet, Upgrade, UpgradeQuerySet
from kubesched_ui.models.scenarios import (
    ClusterObject,
    ClusterTable,
    CompleteManager,
    Scenario,
    WrittenLesson,
)

__all__ = [
    "MAX_NAME", "MAX_RELEASE", "NOMINATED", "NO_NODE", "Breakpoint", "ClusterObject", "ClusterTable",
    "CompleteManager", "Cycle", "CycleBatch", "EventBlock", "GroupCycle", "Marks", "Moves", "NodeList", "PodResult",
    "Quota", "RecordingBlock", "Retention", "Run", "RunQuerySet", "Scenario",
    "Upgrade", "UpgradeQuerySet", "VisibleManager", "WorkloadAnswer", "WrittenLesson",
    "is_number", "owned",
]  # fmt: skip
