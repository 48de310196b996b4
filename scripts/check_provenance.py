"""Check every provenance tree of every cycle of conformance cases with another evaluator.

    python scripts/check_provenance.py CASES.jsonl.gz ...

Prints the errors, then the number of trees by point and plugin, as JSON. Exit code 1: there are errors.
"""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.scheduler_core.provenance.cases import check


def main(paths: list[str]) -> int:
    wrong = 0
    for path in paths:
        counts: Counter[str] = Counter()
        with gzip.open(path) as lines:
            for line in lines:
                for problem in check(msgspec.json.decode(line), counts=counts):
                    print(problem)
                    wrong += 1
        print(json.dumps({"file": path, "trees": counts.total(), "wrong": wrong, **dict(sorted(counts.items()))}))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
