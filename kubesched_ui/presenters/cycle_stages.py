"""Data of a map with the stages of one cycle (static/js/map/stage_map.js), without what follows them."""

from collections.abc import Sequence
from typing import Any

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.search.cycle_steps import cycle_until

VERSION = 0  # of the nodes of the rows


def stages_of(pod: str, trace: CycleTrace | None, names: Sequence[str], shown: int) -> dict[str, Any]:
    """Return {pod, cycle, names}: a cycle's first `shown` steps, none without a trace. `names`: nodes of its rows."""
    cycle = cycle_until(trace, shown) if trace is not None and shown else {"steps": []}
    return {"pod": pod, "cycle": cycle | {"number": 1, "nodes_version": VERSION}, "names": {VERSION: names}}
