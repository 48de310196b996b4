"""Devices in a stored run: allocations of a pod's claims after a cycle, and a node's devices at a timepoint."""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from kubesched_ui.models import Cycle, Run
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import recording_of
from scheduler_core.api.devices import ResourceClaim, ResourceSlice
from scheduler_core.api.objects import KINDS, Node, Object
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.claims import Given, given_of
from scheduler_core.debugger.columnar import Table
from scheduler_core.debugger.node_devices import PoolThen, pools_of
from scheduler_core.dra.claims import reserved_for
from scheduler_core.releases import get_release


def allocated_after(run: Run, cycle: Cycle, pod: PodInfo) -> dict[str, list[Given]]:
    """Map each claim to its devices when it was first reserved for the pod after the cycle; empty if it never was.

    Raises NotRecorded, InputError.
    """
    recording = recording_of(run)
    others, before = recording.tables["others"], recording.before_cycle(cycle.number)
    written = _of_kind(others, "ResourceClaim") & (others["at"] > before) & (others["object"] >= 0)
    fetch, found = fetcher(run), dict[str, list[Given]]()
    for row in np.flatnonzero(written).tolist():
        key = others.at("key", row)
        if key not in found and key.startswith(f"{pod.namespace}/"):
            claim = msgspec.json.decode(fetch(int(others["object"][row]))[1], type=ResourceClaim)
            if reserved_for(claim, pod):
                found[key] = given_of(claim.status.allocation)
    return found


def devices_at(run: Run, node: Node, moment: int) -> list[PoolThen]:
    """Return the devices of a node at a timepoint. Raises NotRecorded, InputError."""
    slices = [obj for obj in _then(run, "ResourceSlice", moment) if isinstance(obj, ResourceSlice)]
    if not slices:
        return []
    claims = [obj for obj in _then(run, "ResourceClaim", moment) if isinstance(obj, ResourceClaim)]
    return pools_of(get_release(run.release), node, slices, claims)


def _then(run: Run, kind: str, moment: int) -> Iterator[Object]:
    """Yield the objects of a kind at a timepoint."""
    others = recording_of(run).tables["others"]
    rows = np.flatnonzero(_of_kind(others, kind) & (others["at"] <= moment)).tolist()
    last = {others.at("key", row): int(others["object"][row]) for row in rows}
    decoder = msgspec.json.Decoder(KINDS[kind])
    fetch = fetcher(run)
    for number in last.values():
        if number >= 0:
            yield decoder.decode(fetch(number)[1])


def _of_kind(others: Table, kind: str) -> npt.NDArray[np.bool_]:
    """Return which rows are of a kind. Each block of a recording has its own entry for the kind's name."""
    numbers = [number for number, name in enumerate(others.texts["kind"]) if name == kind]
    return np.isin(others["kind"], numbers)
