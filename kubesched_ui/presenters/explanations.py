"""Explanations of recorded cycles without restoring the cluster."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from kubesched_ui.paths import RESOURCES
from kubesched_ui.presenters.cycle_presenter import Matrix
from scheduler_core.cluster.formatting import listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.headroom import FIT, UNNAMED, WITH_DETAILS, Headroom
from scheduler_core.explain import Answer, explain
from scheduler_core.explain.failure_details import lacking
from scheduler_core.explain.scores import ScoreRules


def answer(trace: CycleTrace, nodes: list[str], headroom: Headroom | None, rules: ScoreRules) -> Answer:
    """Return the explanation from the trace without restoring the cluster.

    It includes the node that lacks least, and the taints.
    """
    answer_ = explain(trace, names=nodes, rules=rules)
    unclear = [group for group in answer_.groups if group.plugin in WITH_DETAILS]
    if unclear and headroom is not None:
        for group in unclear:
            if successor(group.plugin) == FIT and lacking(group.reasons):
                group.closest = headroom.closest(group.nodes)
            elif group.reasons == [UNNAMED] and (taints := headroom.taints(group.nodes)):
                group.words = f"refuse it by {'taint' if len(taints) == 1 else 'taints'} {listing(taints)}"
    return answer_


# ---- plugins


DOCUMENT = RESOURCES / "docs" / "plugins.md"


@cache
def notes() -> dict[str, dict[str, str]]:
    """Return plugin -> extension point (`Filter`, `Score`, ...) -> plain text; empty if the document is missing."""
    if not DOCUMENT.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    for section in DOCUMENT.read_text(encoding="utf-8").split("\n## ")[1:]:
        name, _, body = section.partition("\n")
        points = re.findall(r"^\* \*\*(\w+)\*\*: (.*?)(?=^\* |\n\n|\Z)", body + "\n", re.M | re.S)
        found[name.strip()] = {point: _plain(text) for point, text in points}
    return found


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"\n\s+\* ", "\n• ", text))
    return " ".join(text.replace("`", "").split())


def notes_of(plugins: Iterable[str], point: str) -> list[tuple[str, str]]:
    """Return (plugin, description of it at `point`) of the documented plugins."""
    return [(name, notes()[name][point]) for name in plugins if point in notes().get(name, {})]


# ---- verdicts


def add_quantities(verdicts: Matrix, headroom: Headroom) -> None:
    """Add quantities or taints to all groups whose reasons omit them, decisive or not."""
    for group in verdicts.groups:
        group.cells = [
            replace(cell, detailed=tuple(headroom.with_amounts(cell.reasons, group.nodes)))
            if cell.plugin in WITH_DETAILS and cell.reasons
            else cell
            for cell in group.cells
        ]
        if group.plugin in WITH_DETAILS:
            group.detailed = tuple(headroom.with_amounts(group.reasons, group.nodes))
            each = headroom.each(group.reasons, group.nodes)
            group.each = each if len(set(each)) > 1 else []
