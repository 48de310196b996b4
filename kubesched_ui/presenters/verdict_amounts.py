"""Adds details to verdicts: the pod's request, each node's quantities, and the taint that excludes the pod."""

from __future__ import annotations

from dataclasses import replace

from kubesched_ui.presenters.cycle_presenter import Matrix
from scheduler_core.debugger.headroom import TOLD, Room


def put_in(verdicts: Matrix, room: Room) -> None:
    """Add quantities or taints to all groups whose reasons omit them, decisive or not."""
    for group in verdicts.groups:
        group.cells = [
            replace(cell, told=tuple(room.told(cell.reasons, group.nodes)))
            if cell.plugin in TOLD and cell.reasons
            else cell
            for cell in group.cells
        ]
        if group.plugin in TOLD:
            group.told = tuple(room.told(group.reasons, group.nodes))
            each = room.each(group.reasons, group.nodes)
            group.each = each if len(set(each)) > 1 else []
