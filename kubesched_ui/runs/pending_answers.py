"""Explains the pods that have no node at the end of a run, as rows to store."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from kubesched_ui.event_log.rows import AnswerRow
from kubesched_ui.models.fields import unpack
from kubesched_ui.models.scenarios import PackedObject
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import Answer
from scheduler_core.explain.answer import PendingWorkload
from scheduler_core.simulation import Simulation
from scheduler_core.stations.extra_kinds import decoded
from scheduler_core.stations.snapshots import waits_of_run
from scheduler_core.suggestions.answers import answers_of

# What is explained at the end of a run, in cycles times nodes; the rest is explained when a user opens it.
CYCLES_TIMES_NODES = 400_000
MOST_CYCLES_TIMES_NODES = 20_000_000  # then
AS_NODES = 250  # fixed cost of a cycle, in nodes

Last = Mapping[str, CycleTrace]
"""Nominated pod -> its last cycle, whose rows are the present nodes."""


def explained(
    simulation: Simulation,
    only: Collection[str] | None,
    last: Last,
    waits: Iterable[PackedObject],
    pod: str = "",
    limit: int | None = None,
) -> list[AnswerRow]:
    """Return why pods without a node have none now, for those that are most alike first, within a limit.

    `only`: keys of pods; None: all that wait. `waits`: as of `Scenario.packed_waits`. `pod`: only for it and
    those of `only` that are like it. `limit`: cycles times nodes, by default CYCLES_TIMES_NODES. The simulation is left
    unchanged. No fixes are searched.
    """
    most = max(1, (limit or CYCLES_TIMES_NODES) // (len(simulation.nodes) + AS_NODES))
    found = answers_of(simulation, only, last, fixes=False, like=pod, most=most)
    if not found:
        return []
    read = ((kind, decoded(kind, unpack(data))) for kind, data in waits)
    extra = [(kind, obj) for kind, obj in read if obj is not None]
    waiting = waits_of_run(simulation, found, extra, pod)
    return [row_of(alike.answer, alike.pods) for alike in waiting]


def row_of(answer: Answer, pods: Sequence[str]) -> AnswerRow:
    """Return the row of an answer about these pods. It is complete if no fixes are searched."""
    namespace, _, name = answer.pod.partition("/")
    workload = answer.workload or PendingWorkload("Pod", namespace, name)
    cause = answer.cause.kind if answer.cause is not None else ""
    of = (workload.kind, workload.namespace, workload.name)
    document = msgspec.json.encode(answer)
    return AnswerRow(*of, answer.pod, len(pods), list(pods), cause, answer.sentence, document, bool(answer.no_fixes))
