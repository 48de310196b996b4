"""python scripts/select_golden.py FOLDER [N]: write selection.txt, the names of the N smallest cases (10) of each kind.

The size of a case includes its decisions. `sampling`, which needs more than 100 nodes, gets two fifths of N. The cases
stay in the order of the set.
"""

import gzip
import sys
from collections import defaultdict
from pathlib import Path

import msgspec


def sizes(path: Path) -> dict[str, int]:
    """Return the length of each case's line by its name."""
    with gzip.open(path) as stream:
        return {msgspec.json.decode(line)["name"]: len(line) for line in stream if line.strip()}


def select(folder: Path, count: int) -> None:
    cases, expected = sizes(folder / "cases.jsonl.gz"), sizes(folder / "expected.jsonl.gz")
    kinds = defaultdict(list)
    for name, size in cases.items():
        kinds[name.split("-")[0]].append((size + expected[name], name))
    wanted = {kind: max(1, count * 2 // 5) if kind == "sampling" else count for kind in kinds}
    smallest = {name for kind, named in kinds.items() for _, name in sorted(named)[: wanted[kind]]}
    (folder / "selection.txt").write_text("".join(f"{name}\n" for name in cases if name in smallest))


if __name__ == "__main__":
    select(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)
