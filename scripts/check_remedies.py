"""Check suggested fixes on conformance cases: how many unschedulable cycles have one, and whether all hold.

    python scripts/check_remedies.py v1.34 [--every N] [--show]

Each fix is proved again, apart from the search: the case is run from its beginning up to the cycle, the changes are
applied there, and the pod is tried and bound; then again without any one of the changes. If no fix changes the pod,
`pod_relaxation.py` finds out whether any change of the pod's own fields places it. Prints one JSON line: the cycles
without a fix; those without a fix of the pod though a change of the pod suffices (exit code 1 if there are any), by the
required change; and those where no change suffices, by the obstacle that remains.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.cycle.trace import CycleTrace  # noqa: E402
from scheduler_core.debugger.suggestions.search import remedies  # noqa: E402
from tests.conformance import golden_cases  # noqa: E402
from tests.scheduler_core.debugger.core_states import simulation_of_case  # noqa: E402
from tests.scheduler_core.debugger.pod_relaxation import NEVER, relaxed  # noqa: E402
from tests.scheduler_core.debugger.suggestion_checks import check, replayed, unplaced  # noqa: E402

COUNTS = re.compile(r"\d+(/\d+)? (nodes are available: )?")


def refused_by(trace: CycleTrace) -> str:
    whole = trace.preenqueue or trace.prefilter
    if whole is not None:
        return f"{whole.plugin}: {whole.message[:60]}"
    return " ".join(sorted({status.plugin for status, _ in trace.decisive_statuses()}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", help="a set in tests/golden")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    cycles = having = shown = 0
    kinds: dict[str, Counter[str]] = {name: Counter() for name in ("first", "without", "left_out", "no_pod_side")}
    wrong: list[str] = []
    slowest = 0.0
    for case in golden_cases(args.cases, whole=True)[:: args.every]:
        for trace, again in unplaced(simulation_of_case(case)):
            cycles += 1
            simulation, start = again(), time.perf_counter()
            found = remedies(simulation, trace.pod)
            slowest = max(slowest, time.perf_counter() - start)
            having += bool(found)
            shown += len(found)
            kinds["first"].update(remedy.kind for remedy in found[:1])
            anew = partial(replayed, partial(simulation_of_case, case), trace.number - 1)
            if not found:
                kinds["without"][refused_by(trace)] += 1
            if not any(remedy.kind == "pod" for remedy in found):
                change = relaxed(anew, trace.pod)
                if change.parts:
                    kinds["left_out"][" ".join(change.parts)] += 1
                else:
                    by = " (it could preempt)" if change.preempts and case.get("preempt") else ""
                    kinds["no_pod_side"][COUNTS.sub("", change.in_the_way) + by] += 1
            if args.show:
                print(f"{case['name']} {trace.pod}: {trace.message}", file=sys.stderr)
                for remedy in found:
                    print(f"    {remedy.kind:6} {remedy.cost:5.1f} {remedy.text}", file=sys.stderr)
            try:
                check(anew, trace.pod, found)
                assert not any(key in json.dumps(remedy.changes) for remedy in found for key in NEVER)
            except AssertionError as problem:
                wrong.append(f"{case['name']}: {problem}")
    counts_of_all = {"cycles": cycles, "with_a_remedy": having, "share": round(having / max(cycles, 1), 4)}
    counts_of_all |= {"remedies": shown, "wrong": wrong, **kinds, "slowest_s": round(slowest, 3)}
    print(json.dumps(counts_of_all))
    return 1 if wrong or kinds["left_out"] or having < 0.97 * cycles else 0


if __name__ == "__main__":
    sys.exit(main())
