"""Outcome of every pod when a run is replayed from its inputs, and whether two answers differ only in wording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.compare.inputs import Inputs, Tick, at_end, scenario_run, simulation_of

Refusals = Mapping[str, bytes]
"""Plugin -> the nodes it rejects, one bit each; "" -> the evaluated nodes. For PreFilter and PreEnqueue: plugin ->
b""."""


class Outcome(NamedTuple):
    """The final outcome of a pod. `nominated`: the node where preemption evicts `victims`."""

    result: str
    node: str
    nominated: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""

    @property
    def placed(self) -> bool:
        return self.result in ("scheduled", "waiting")

    @property
    def decision(self) -> tuple[str, str, str, tuple[str, ...]]:
        """Everything except the message."""
        return self[:4]

    def as_dict(self) -> dict[str, object]:
        return self._asdict() | {"victims": list(self.victims)}


def outcomes(inputs: Inputs, tick: Tick, refusals: dict[str, Refusals] | None = None) -> dict[str, Outcome]:
    """Return the outcome of every pod that is tried.

    `tick` is called at every step and may raise to stop the run. `refusals` is filled with the rejections of the pods
    that got no node. Raises InputError.
    """
    last: dict[str, CycleTrace] = {}
    found: dict[str, Outcome] = {}

    def note(trace: CycleTrace, result: str, node: str) -> None:
        nominated = trace.nominated_node if result == "unschedulable" else ""
        victims = tuple(sorted(trace.victims))
        found[trace.pod] = Outcome(result, node, nominated, victims, "" if node else trace.message or trace.error)
        if refusals is not None and not node:
            refusals[trace.pod] = refusals_of(trace)

    if inputs.time is None:
        for trace in simulation_of(inputs).run():
            tick()
            note(trace, trace.result, trace.placed_on)
        return found
    run = scenario_run(inputs)
    for record in run.run():
        tick()
        if record.trace is not None:
            last[record.trace.pod] = record.trace
    for pod, trace in last.items():
        note(trace, *at_end(run, pod, (trace.result, trace.placed_on)))
    return found


def refusals_of(trace: CycleTrace) -> dict[str, bytes]:
    """Return which plugin rejected the pod on which nodes, without messages."""
    early = trace.preenqueue or trace.prefilter
    if early is not None:
        return {early.plugin: b""}
    found = {"": np.packbits(trace.looked_mask()).tobytes()}
    for plugin, verdict in trace.verdicts.items():
        if verdict.codes is not None and verdict.codes.any():
            found[plugin] = np.packbits(verdict.codes > 0).tobytes()
    return found


def only_words(a: Refusals, b: Refusals) -> bool:
    """Return whether two cycles without a feasible node differ only in messages.

    On nodes that both evaluated, the same plugins must reject the same nodes. A missing plugin passes all nodes. A
    plugin that rejects in PreFilter rejects every node.
    """
    if not (a.get("") and b.get("")):
        return a.keys() - {""} == b.keys() - {""}
    if len(a[""]) != len(b[""]):
        return False
    looked = np.frombuffer(a[""], np.uint8) & np.frombuffer(b[""], np.uint8)
    nothing = bytes(len(looked))
    return all(
        not ((np.frombuffer(a.get(p, nothing), np.uint8) ^ np.frombuffer(b.get(p, nothing), np.uint8)) & looked).any()
        for p in {*a, *b} - {""}
    )
