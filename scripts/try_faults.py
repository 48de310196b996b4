"""Count how many single faults in real clusters the answer names: a taint, a cordon, a deleted claim ...

    python scripts/try_faults.py tests/data/clusters 300 [--seed N] [--show]

Each fault leaves one running pod without a node. Prints each fault that the cause of the pod's answer does not name,
with the sentence, and then the numbers by kind. --show also prints the other sentences. Exit code 1: fewer than 95% are
named.
"""

import argparse
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.scheduler_core.explain.planted.answers import explained  # noqa: E402
from tests.scheduler_core.explain.planted.real_faults import faults  # noqa: E402

LEAST = 0.95


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    named: Counter[str] = Counter()
    slowest = 0.0
    for fault in islice(faults(sorted(args.folder.glob("*.json.gz")), args.seed), args.number):
        start = time.perf_counter()
        answer = explained(fault.objects, "--pod", fault.pod).get(fault.pod) or {}
        slowest = max(slowest, time.perf_counter() - start)
        kind = (answer.get("cause") or {}).get("kind")
        tried[fault.name] += 1
        named[fault.name] += kind in fault.kinds
        if kind not in fault.kinds or args.show:
            mark = " " if kind in fault.kinds else "!"
            print(f"{mark} {fault.cluster} {fault.pod}: {fault.name} -> {kind}: {answer.get('sentence')}")
    total, right = sum(tried.values()), sum(named.values())
    kinds = ", ".join(f"{kind} {named[kind]}/{count}" for kind, count in sorted(tried.items()))
    print(f"{right} of {total} are named ({kinds}); the slowest answer took {slowest:.2f} s")
    return 0 if right >= LEAST * total else 1


if __name__ == "__main__":
    sys.exit(main())
