"""Check fixes that prefer a node on conformance cases: how many nodes have one, and whether all hold.

    python scripts/check_winning.py v1.34 [--every N] [--show]

For each cycle that placed its pod three nodes are queried: the best that was not selected, the worst that was scored,
and one that rejects the pod. Each fix is proved again, apart from the search: the case is run from its beginning, the
changes are applied, and the node must be the only best one; without any one of the changes it must not. Prints one JSON
line; nodes without a fix are counted by the rejecting plugins, or "points".
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.cycle.trace import CycleTrace  # noqa: E402
from scheduler_core.debugger.suggestions.prefer_node import prefer_node  # noqa: E402
from scheduler_core.simulation import Simulation  # noqa: E402
from tests.conformance import golden_cases  # noqa: E402
from tests.scheduler_core.debugger.core_states import simulation_of_case  # noqa: E402
from tests.scheduler_core.debugger.suggestion_checks import check_wins, replayed, unplaced  # noqa: E402

NEVER = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")  # tolerating these is no fix


def losers(trace: CycleTrace, names: list[str]) -> Iterator[tuple[str, int]]:
    """Yield (which, row): the best and the worst scored node that was not selected, and the first that rejects."""
    feasible = trace.feasible_rows()
    if trace.scores:
        total = trace.total()
        lost = sorted((-int(p), names[r], r) for r, p in zip(feasible.tolist(), total, strict=True))
        lost = [entry for entry in lost if entry[2] != trace.selected_row]
        if lost:
            yield ("tied" if -lost[0][0] == int(np.max(total)) else "best"), lost[0][2]
        if len(lost) > 1:
            yield "worst", lost[-1][2]
    refused = sorted((names[row], row) for _, rows in trace.decisive_statuses() for row in rows)
    if refused:
        yield "refused", refused[0][1]


def obstacles(trace: CycleTrace, row: int) -> str:
    found = [plugin for plugin, verdict in trace.verdicts.items() if verdict.at(row) is not None]
    return " ".join(found) or "points"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", help="a set in tests/golden")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    queried, having, first, without = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    shown, slowest = 0, 0.0
    wrong: list[str] = []
    for case in golden_cases(args.cases, whole=True)[:: args.every]:
        for trace, again in unplaced(simulation_of_case(case), "scheduled", percentage=case.get("percentage")):
            anew = partial(replayed, partial(simulation_of_case, case), trace.number - 1)
            names = _names(again())
            for which, row in losers(trace, names):
                queried[which] += 1
                simulation, start = again(), time.perf_counter()
                found = prefer_node(simulation, trace.pod, names[row]).fixes
                slowest = max(slowest, time.perf_counter() - start)
                having[which] += bool(found)
                shown += len(found)
                first.update(fix.kind for fix in found[:1])
                if not found:
                    without[f"{which}: {obstacles(trace, row)}"] += 1
                if args.show or not found:
                    print(f"{case['name']} {trace.pod} to {names[row]} ({which})", file=sys.stderr)
                    for fix in found:
                        print(f"    {fix.kind:16} {fix.text}", file=sys.stderr)
                try:
                    check_wins(anew, trace.pod, names[row], found)
                    assert not any(key in json.dumps(fix.changes) for fix in found for key in NEVER)
                except AssertionError as problem:
                    wrong.append(f"{case['name']}: {problem}")
    share = round(having.total() / max(queried.total(), 1), 4)
    report = {"questions": queried, "with_an_answer": having, "share": share, "answers": shown, "wrong": wrong}
    print(json.dumps(report | {"first": first, "without": without, "slowest_s": round(slowest, 3)}))
    return 1 if wrong or share < 0.95 else 0


def _names(simulation: Simulation) -> list[str]:
    simulation.cluster.nodes.refresh()
    return list(simulation.cluster.nodes.names)


if __name__ == "__main__":
    sys.exit(main())
