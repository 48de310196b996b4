"""Remedies over conformance cases: how many unschedulable cycles have one, and whether all hold.

    python scripts/check_remedies.py ../shared/golden/v1.34/cases.jsonl.gz [--every 1] [--check 5] [--show]

Every N-th remedy list (`--check`, 0 for none) is applied to clusters rewound anew and run to the binding, with all of
its changes and without any one of them. Prints one JSON line: the cycles without a remedy, and without one of the pod's
side, by what refused them.
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

from scheduler_core.cycle.trace import CycleTrace  # noqa: E402
from scheduler_core.debugger.remedies.search import remedies  # noqa: E402
from tests.scheduler_core.debugger.live import golden_cases, simulation_of_case  # noqa: E402
from tests.scheduler_core.debugger.remedied import check, stuck  # noqa: E402


def refused_by(trace: CycleTrace) -> str:
    whole = trace.preenqueue or trace.prefilter
    if whole is not None:
        return f"{whole.plugin}: {whole.message[:60]}"
    return " ".join(sorted({status.plugin for status, _ in trace.decisive_statuses()}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--check", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    cycles = having = checked = shown = 0
    first: Counter[str] = Counter()
    none: Counter[str] = Counter()
    no_pod_side: Counter[str] = Counter()
    wrong: list[str] = []
    slowest = 0.0
    for case in golden_cases(args.cases)[:: args.every]:
        for trace, again in stuck(simulation_of_case(case)):
            cycles += 1
            simulation, start = again(), time.perf_counter()
            found = remedies(simulation, trace.pod)
            slowest = max(slowest, time.perf_counter() - start)
            having += bool(found)
            shown += len(found)
            if not found:
                none[refused_by(trace)] += 1
            elif not any(remedy.kind == "pod" for remedy in found):
                no_pod_side[refused_by(trace)] += 1
            if found:
                first[found[0].kind] += 1
            if args.show:
                print(f"{case['name']} {trace.pod}: {trace.message}", file=sys.stderr)
                for remedy in found:
                    print(f"    {remedy.kind:6} {remedy.cost:5.1f} {remedy.text}", file=sys.stderr)
            if args.check and cycles % args.check == 0:
                checked += len(found)
                try:
                    check(again, trace.pod, found)
                except AssertionError as problem:
                    wrong.append(f"{case['name']}: {problem}")
    told = {"cycles": cycles, "with_a_remedy": having, "share": round(having / max(cycles, 1), 4), "remedies": shown}
    told |= {"checked": checked, "wrong": wrong, "first": dict(first), "without": dict(none)}
    print(json.dumps(told | {"without_pod_side": dict(no_pod_side), "slowest_s": round(slowest, 3)}))
    return 1 if wrong or having < 0.97 * cycles else 0


if __name__ == "__main__":
    sys.exit(main())
