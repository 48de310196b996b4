"""All algorithms of a profile of 1.16."""

from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.predicates import PREDICATES
from scheduler_core.legacy.priorities import PRIORITIES
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.priority_sort import PrioritySort

ALGORITHMS: dict[str, type[fwk.Plugin]] = {
    **PREDICATES,
    **PRIORITIES,
    PrioritySort.name: PrioritySort,
    DefaultBinder.name: DefaultBinder,
}
"""All algorithms of a profile by name. Queue sort and bind are neither predicates nor priorities, but work as in later
releases."""
