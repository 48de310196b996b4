"""Check upgrade previews of random clusters by replaying the causes that they name.

    python scripts/try_upgrades.py [--patches] [CLUSTERS, 1000] [FIRST SEED]

Previews each random cluster between each two successive releases, or with --patches between pairs of patch releases,
and replays the named causes of differences. Prints the number of pods that each set of behaviours explains, also when
interrupted, and every difference without a sufficient cause. Exit code 1: there is one.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.releases.versions import numbered  # noqa: E402
from tests.random_clusters import random_cluster, with_other_hostnames  # noqa: E402
from tests.upgrades import PATCHES, Played, check_causes, differing_runs, successive_releases  # noqa: E402


class Totals:
    """What previews found. `causes`: (release, behaviours) -> pods. `sizes`: number of behaviours -> pods."""

    def __init__(self) -> None:
        self.began, self.clusters, self.steps, self.faults = time.monotonic(), 0, 0, 0
        self.causes: Counter[tuple[str, str]] = Counter()
        self.sizes: Counter[int] = Counter()

    def add(self, seed: int, runs: Iterable[tuple[Played, Played]]) -> None:
        for a, b in runs:
            step, wrong = check_causes(a, b)
            self.steps += 1
            self.faults += len(wrong)
            for one in step.changed:
                self.causes[b.inputs.release.name, " + ".join(step.units[i].path for i in sorted(one.cause or ()))] += 1
                self.sizes[len(one.cause or ())] += 1
            for line in wrong:
                print(f"cluster {seed}, {a.inputs.release.name} to {b.inputs.release.name}: {line}", flush=True)
        self.clusters += 1

    def __str__(self) -> str:
        seconds, pods = time.monotonic() - self.began, self.causes.total()
        return (
            f"{self.clusters:,} clusters, {self.steps:,} previews, {pods:,} differences in {seconds:,.0f} s: "
            f"{self.faults:,} wrong"
        )


def patch_releases(seed: int) -> Iterable[tuple[Played, Played]]:
    """Return the runs of a random cluster in which patch releases differ. In every second one, hostnames differ."""
    cluster = random_cluster(seed)
    return differing_runs(with_other_hostnames(cluster) if seed % 2 else cluster, PATCHES)


def main(count: int = 1000, first: int = 0, patches: bool = False) -> int:
    totals = Totals()
    try:
        for seed in range(first, first + count):
            totals.add(seed, patch_releases(seed) if patches else successive_releases(random_cluster(seed)))
            if totals.clusters % 50 == 0:
                print(totals, flush=True)
    except KeyboardInterrupt:
        pass
    for (release, cause), pods in sorted(totals.causes.items(), key=lambda item: (numbered(item[0][0]), -item[1])):
        print(f"{release:8}{pods:6}  {cause}")
    print(totals)
    print("differences by number of behaviours:", dict(sorted(totals.sizes.items())))
    return int(bool(totals.faults))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--patches"]
    sys.exit(main(*numbers, patches="--patches" in sys.argv))
