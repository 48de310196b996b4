"""python scripts/select_golden.py FOLDER TARGET [N]: the N smallest cases (10) of each kind, with their decisions.

A case is as large as the two together. Of `sampling`, which needs more than 100 nodes, two fifths of N. The same cases
give the same bytes.
"""

import gzip
import sys
from collections import defaultdict
from pathlib import Path

import msgspec


def lines(path: Path) -> dict[str, bytes]:
    """Name -> line."""
    with gzip.open(path) as stream:
        return {msgspec.json.decode(line)["name"]: line for line in stream if line.strip()}


def select(folder: Path, target: Path, count: int) -> None:
    cases, expected = lines(folder / "cases.jsonl.gz"), lines(folder / "expected.jsonl.gz")
    kinds = defaultdict(list)
    for name in cases:
        kinds[name.split("-")[0]].append(name)

    def size(name: str) -> tuple[int, str]:
        return len(cases[name]) + len(expected[name]), name

    wanted = {kind: max(1, count * 2 // 5) if kind == "sampling" else count for kind in kinds}
    smallest = {name for kind, names in kinds.items() for name in sorted(names, key=size)[: wanted[kind]]}
    target.mkdir(parents=True, exist_ok=True)
    for file, found in (("cases.jsonl.gz", cases), ("expected.jsonl.gz", expected)):
        kept = b"".join(line.rstrip() + b"\n" for name, line in found.items() if name in smallest)
        (target / file).write_bytes(gzip.compress(kept, 9, mtime=0))


if __name__ == "__main__":
    select(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 10)
