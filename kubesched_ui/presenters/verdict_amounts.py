"""Verdicts with their numbers: how much a pod asked for, how much each node had, which taint keeps it away."""

from __future__ import annotations

from dataclasses import replace

from kubesched_ui.presenters.cycle_presenter import Matrix
from scheduler_core.debugger.headroom import TOLD, Room


def put_in(verdicts: Matrix, room: Room) -> None:
    """Gives the groups that lack something or are tainted, decisively or not, what the room tells of their nodes."""
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
