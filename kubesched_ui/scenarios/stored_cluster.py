"""The nodes and pods of a stored scenario.

A scenario never changes (an edit creates a new one), so its table is cached for the next page.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

import msgspec

from kubesched_ui.models import ClusterObject, ClusterTable, Scenario
from kubesched_ui.models.fields import UNPACK_ERROR
from kubesched_ui.scenarios.cluster_overview import ClusterView, PodLine, cluster_view, table_of
from kubesched_ui.scenarios.stored_table import view_of_table

logger = logging.getLogger(__name__)

AT_ONCE = 500  # names per database query


def cluster_of_scenario(scenario: Scenario) -> ClusterView:
    """Return the cached view of a stored scenario. Callers must not change it."""
    return _kept(scenario.pk, scenario.created_at)


def pods_of_scenario(scenario: Scenario, keys: Iterable[str]) -> Mapping[str, PodLine]:
    """Return some pods ("namespace/name") of a stored scenario without loading the others."""
    wanted: dict[str, set[str]] = {}
    for key in keys:
        namespace, _, name = key.partition("/")
        wanted.setdefault(namespace, set()).add(name)
    rows = ClusterObject.objects.filter(scenario=scenario)
    objects = [row.data for row in rows.filter(kind="PriorityClass")]
    for namespace, names in wanted.items():
        ordered = sorted(names)
        for begin in range(0, len(ordered), AT_ONCE):
            found = rows.filter(kind="Pod", namespace=namespace, name__in=ordered[begin : begin + AT_ONCE])
            objects += found.values_list("data", flat=True)
        if len(ordered) == 1:
            events = rows.filter(kind="Event", namespace=namespace, name__startswith=f"{ordered[0]}.")
            objects += events.values_list("data", flat=True)
    return cluster_view(objects).pods


@lru_cache(maxsize=4)
def _kept(scenario_id: int, created_at: datetime) -> ClusterView:
    # The creation time is part of the cache key because a database may reuse the ID of a deleted scenario.
    scenario = Scenario(pk=scenario_id)
    for packed in ClusterTable.objects.filter(scenario=scenario).values_list("data", flat=True):
        try:
            if view := view_of_table(packed):
                return view
        except (UNPACK_ERROR, msgspec.DecodeError, IndexError, ValueError):
            logger.warning("The table of scenario %s is damaged, so it is made from its objects", scenario_id)
    return table_of(scenario.decoded(["Node", "Pod", "PriorityClass"]), scenario.objects_of(["Event"]))
