"""Context of the two maps of a comparison: the stepping mode, and the run that leads."""

from typing import Any

from kubesched_ui.models import Run

CYCLE, POD, TIME = "cycle", "pod", "time"
WAYS = {CYCLE: "cycle number", POD: "pod", TIME: "virtual time"}


def maps(together: str, a: Run, b: Run, shared: bool) -> dict[str, Any]:
    """Return the context of parts/compare_maps.html. `shared`: whether any pod is in both runs.

    `together`: the requested stepping mode.
    """
    there = {CYCLE: True, POD: shared, TIME: a.in_time and b.in_time}
    ways = [name for name in WAYS if there[name]]
    together = together if together in ways else usual(a, b, shared)
    # The longer run leads, so that both reach their end. By pod, the cycles are those of A.
    second = (together == CYCLE and b.cycles_done > a.cycles_done) or (together == TIME and b.clock > a.clock)
    return {
        "ways": [(name, WAYS[name]) for name in ways],
        "together": together,
        "in_time": together == TIME,
        "leads": "b" if second else "a",
        "cycles": (b if second else a).cycles_done,
        "until": max(a.clock, b.clock) if together == TIME else 0,
        "note": note(together, a, b, second)
        if shared
        else "The runs have no pod in common: shows cycle K of A next to cycle K of B.",
    }


def usual(a: Run, b: Run, shared: bool) -> str:
    """Return the default stepping mode.

    By cycle for runs with a common beginning or without common pods, by time for two runs in virtual time, and by
    pod for runs of different scenarios or modes.
    """
    if related(a, b) or not shared:
        return CYCLE
    if a.in_time and b.in_time:
        return TIME
    return CYCLE if a.scenario_id == b.scenario_id and a.in_time == b.in_time else POD


def related(a: Run, b: Run) -> bool:
    """Whether one run is a fork of the other, or both are forks of the same run."""
    return a.parent_id == b.pk or b.parent_id == a.pk or (a.parent_id is not None and a.parent_id == b.parent_id)


def note(together: str, a: Run, b: Run, second: bool) -> str:
    """Return a note that explains the stepping mode."""
    if together == POD:
        return "B shows the same attempt of the same pod. If B did not schedule the pod, it stays at its cycle."
    if together == TIME:
        return f"Steps are {'B' if second else 'A'}'s cycles; the other run shows the same second."
    if a.cycles_done != b.cycles_done:
        return f"{'A' if second else 'B'} has fewer cycles and stays at its last cycle."
    return "Shows cycle K of A next to cycle K of B."
