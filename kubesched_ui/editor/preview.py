"""Preview of the cluster that a text describes."""

from collections.abc import Sequence
from typing import Any

from kubesched_ui.editor.object_index import IndexedObject
from kubesched_ui.scenarios.cluster_columns import columns_of
from kubesched_ui.scenarios.cluster_overview import table_of
from scheduler_core.api.objects import Node, decode
from scheduler_core.controllers.pod_template import makes_pods, read
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.snapshot.defaults import is_typed
from scheduler_core.snapshot.workload_pods import number_of_pods


def preview(indexed: Sequence[IndexedObject]) -> dict[str, Any]:
    """Return the cluster in the format of the map. `replicas`: number of pods that workloads will create."""
    objects = [decoded for entry in indexed if (decoded := _decoded(entry)) is not None]
    nodes = list({obj.metadata.name: obj for obj in objects if isinstance(obj, Node)}.values())
    return columns_of(table_of(objects)) | {"replicas": sum(_replicas(entry, nodes) for entry in indexed)}


def _decoded(entry: IndexedObject) -> Any:
    if entry.kind not in ("Node", "Pod"):
        return None
    try:
        return decode(entry.value)
    except InputError:
        return None


def _replicas(entry: IndexedObject, nodes: list[Node]) -> int:
    """Return the number of pods that a workload would create."""
    try:
        if not (makes_pods(entry.value) and is_typed(entry.value)):
            return 0
        return number_of_pods(read(entry.value), nodes, get_release(NEWEST))
    except InputError:
        return 0
