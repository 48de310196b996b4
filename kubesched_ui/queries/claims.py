"""Devices in a stored run: allocations of a pod's claims after a cycle, and a node's devices at a timepoint."""

from typing import TypeVar

import msgspec
import numpy as np

from kubesched_ui.models import Cycle, Run
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import recording_of
from scheduler_core.api.devices import ResourceClaim, ResourceSlice
from scheduler_core.api.objects import Node
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra.claims import reserved_for
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.objects import others
from scheduler_core.releases import get_release
from scheduler_core.search.claims import Given, given_of
from scheduler_core.search.node_devices import PoolThen, pools_of

_T = TypeVar("_T")


def allocated_after(run: Run, cycle: Cycle, pod: PodInfo) -> dict[str, list[Given]]:
    """Map each claim to its devices when it was first reserved for the pod after the cycle; empty if it never was.

    Raises NotRecorded, InputError.
    """
    recording = recording_of(run)
    table, before = recording.tables["others"], recording.before_cycle(cycle.number)
    fetch, found = fetcher(run), dict[str, list[Given]]()
    for row in np.flatnonzero((table["at"] > before) & (table["object"] >= 0)).tolist():
        key = table.at("key", row)
        if table.at("kind", row) == "ResourceClaim" and key not in found and key.startswith(f"{pod.namespace}/"):
            claim = msgspec.json.decode(fetch(int(table["object"][row]))[1], type=ResourceClaim)
            if reserved_for(claim, pod):
                found[key] = given_of(claim.status.allocation)
    return found


def devices_at(run: Run, node: Node, moment: int) -> list[PoolThen]:
    """Return the devices of a node at a timepoint. Raises NotRecorded, InputError."""
    there, fetch = list(others(StateAtTimepoint(recording_of(run), moment))), fetcher(run)

    def read(kind: type[_T]) -> list[_T]:
        decode = msgspec.json.Decoder(kind).decode
        return [decode(fetch(at.number)[1]) for at in there if at.kind == kind.__name__]

    slices = read(ResourceSlice)
    return pools_of(get_release(run.release), node, slices, read(ResourceClaim)) if slices else []
