"""Explanations of recorded cycles: the sentence at once, what would have to change when it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kubesched_ui.models import Cycle, Run
from kubesched_ui.reading import occupancy
from kubesched_ui.scenarios import clusterview
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import Answer, explain, sentences
from scheduler_core.explain.words import amount, listing

Closest = Callable[[list[str]], str]


def answer(run: Run, row: Cycle, trace: CycleTrace, nodes: list[str]) -> Answer:
    """What the trace alone tells, and the node that lacks least: without building the cluster again."""
    told = explain(trace, names=nodes)
    lacking = [group for group in told.groups if group.plugin == "NodeResourcesFit"]
    if lacking and not run.in_time:  # what was where at that moment is only known of one pass
        closest = closest_of(run, row)
        for group in lacking:
            group.closest = closest(group.nodes)
        told.sentence = sentences.answer(trace, told)
    return told


def closest_of(run: Run, row: Cycle) -> Closest:
    """Names, of some nodes, the one that lacked least when the cycle began, and how much: `n4, short by 250m`."""
    view = clusterview.of_scenario(run.scenario)
    requests = occupancy.requests_of(run, view)
    asked = requests.get(f"{row.namespace}/{row.name}", {})
    _, places = occupancy.occupants(run, view, row.number)
    used: dict[str, Counter[str]] = occupancy.usage(view, places, requests)

    def closest(nodes: list[str]) -> str:
        lacks = [(name, clusterview.shortage(view.nodes[name], used[name], asked)) for name in nodes if name in used]
        short = [(sum(lack / asked[r] for r, lack in some.items()), name, some) for name, some in lacks if some]
        if not short:
            return ""
        _, name, some = min(short, key=lambda entry: entry[:2])
        parts = [f"{amount(r, lack)} {'room' if r == 'pods' else r}" for r, lack in some.items()]
        return f"{name}, short by {listing(parts)}"

    return closest
