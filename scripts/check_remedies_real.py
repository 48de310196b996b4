"""Check suggested fixes on real clusters with typical mistakes: each places the pod, and undoing comes first.

    python scripts/check_remedies_real.py tests/data/clusters [--most 60]

Prints one JSON line: for each kind of mistake the number of pods, and how often the first or second fix undoes it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.debugger.suggestions.search import remedies  # noqa: E402
from scheduler_core.simulation import Simulation  # noqa: E402
from tests.clusters import read_snapshot  # noqa: E402
from tests.scheduler_core.debugger.broken_pods import WAYS, broken_pods  # noqa: E402
from tests.scheduler_core.debugger.suggestion_checks import check, unplaced  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=60, help="broken pods that are tried")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    undone: Counter[str] = Counter()
    wrong, without, shown, slowest = [], [], 0, 0.0
    for number, path in enumerate(sorted(args.folder.glob("*.json.gz"))):
        broken = list(broken_pods(read_snapshot(path)))
        # Each cluster has a few of the mistakes, so that all occur on different clusters.
        for one in [broken[(number * 5 + i) % len(WAYS)] for i in range(3)] if broken else []:
            if sum(tried.values()) >= args.most:
                break
            simulation = Simulation(one.objects, pods=[one.pod], tie_break="name", preemption=False)
            found_stuck = list(unplaced(simulation))
            if not found_stuck:
                continue  # a mistake without an effect: it fits all the same
            trace, again = found_stuck[0]
            tried[one.kind] += 1
            rewound, start = again(), time.perf_counter()
            found = remedies(rewound, trace.pod)
            slowest = max(slowest, time.perf_counter() - start)
            shown += len(found)
            name = f"{path.name.split('.json')[0]}, {one.kind}"
            if not found:
                without.append(name)
            undone[one.kind] += any(one.undoes(remedy.changes) for remedy in found[:2])
            try:
                check(again, trace.pod, found)
            except AssertionError as problem:
                wrong.append(f"{name}: {problem}")
            if args.show:
                print(f"{name}: {trace.message}", file=sys.stderr)
                for remedy in found:
                    print(f"    {remedy.kind:6} {remedy.cost:5.1f} {remedy.text}", file=sys.stderr)
    report = {"broken": sum(tried.values()), "undone_by_first_or_second": sum(undone.values()), "remedies": shown}
    report |= {"wrong": wrong, "without": without, "slowest_s": round(slowest, 3)}
    kinds = {kind: f"{undone[kind]} of {count}" for kind, count in sorted(tried.items())}
    print(json.dumps(report | {"by_kind": kinds}))
    return 1 if wrong or without else 0


if __name__ == "__main__":
    sys.exit(main())
