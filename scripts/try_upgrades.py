"""Upgrade previews of random clusters, checked by playing what they name as causes.

    python scripts/try_upgrades.py [CLUSTERS, 1000] [FIRST SEED]

Previews each random cluster between each two successive releases, and plays what the preview names as the cause of a
difference. Prints how many pods each set of behaviours explains, and every difference without a cause or with a cause
that does not give it. Exit code 1: there is one.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.random_clusters import random_cluster  # noqa: E402
from tests.upgrades import check_causes, successive_releases  # noqa: E402


def main(count: int = 1000, first: int = 0) -> int:
    began, steps, faults = time.monotonic(), 0, 0
    causes: Counter[tuple[str, str]] = Counter()
    sizes: Counter[int] = Counter()
    for seed in range(first, first + count):
        for a, b in successive_releases(random_cluster(seed)):
            step, wrong = check_causes(a, b)
            steps += 1
            for one in step.changed:
                causes[b.release.name, " + ".join(step.units[i].path for i in sorted(one.cause or ()))] += 1
                sizes[len(one.cause or ())] += 1
            for line in wrong:
                faults += 1
                print(f"cluster {seed}, {a.release.name} to {b.release.name}: {line}", flush=True)
    for (release, cause), pods in sorted(causes.items(), key=lambda item: (int(item[0][0].split(".")[1]), -item[1])):
        print(f"{release:6}{pods:6}  {cause}")
    pods = sum(causes.values())
    seconds = time.monotonic() - began
    print(f"{count:,} clusters, {steps:,} previews, {pods:,} differences in {seconds:,.0f} s: {faults:,} wrong")
    print("differences by number of behaviours:", *(f"{size}: {number:,}" for size, number in sorted(sizes.items())))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
