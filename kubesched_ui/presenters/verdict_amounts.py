"""Adds details to verdicts: the pod's request, each node's quantities, and the taint that excludes the pod."""

from __future__ import annotations

from dataclasses import replace

from kubesched_ui.presenters.cycle_presenter import Matrix
from scheduler_core.debugger.headroom import WITH_DETAILS, Headroom


def add_quantities(verdicts: Matrix, headroom: Headroom) -> None:
    """Add quantities or taints to all groups whose reasons omit them, decisive or not."""
    for group in verdicts.groups:
        group.cells = [
            replace(cell, told=tuple(headroom.with_amounts(cell.reasons, group.nodes)))
            if cell.plugin in WITH_DETAILS and cell.reasons
            else cell
            for cell in group.cells
        ]
        if group.plugin in WITH_DETAILS:
            group.told = tuple(headroom.with_amounts(group.reasons, group.nodes))
            each = headroom.each(group.reasons, group.nodes)
            group.each = each if len(set(each)) > 1 else []
