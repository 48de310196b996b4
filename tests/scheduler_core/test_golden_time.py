"""Every attempt and every move in the queue happens when upstream kube-scheduler has it happen, and why.

The selection beside the tests always runs; the whole set lies beside the checkout (`../shared`) where it is available.
"""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_core.commands.replay_time import replay_case

HERE = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[3] / "shared" / "golden"
SETS = sorted(path.name for path in HERE.glob("time*"))
KINDS = {
    *(
        "affinity",
        "arrivals",
        "backoff",
        "gates",
        "irrelevant",
        "mixed",
        "nodeadd",
        "nodeupdate",
        "nonodes",
        "poddelete",
    ),
    *("podupdate", "ports", "preempt", "profiles", "spread", "timeout"),
}


def kinds_of(name: str) -> set[str]:
    """Pods had no scheduling gates before 1.26."""
    return KINDS - {"gates"} if name in ("time-v1.22", "time-v1.24") else KINDS


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as stream:
        yield from map(msgspec.json.decode, stream)


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """The form that is compared: nothing empty, plugins without order, times to the millisecond."""
    out = {key: value for key, value in record.items() if value not in (None, "", [], {})}
    out["t"] = round(float(record["t"]), 3)
    if "unschedulable_plugins" in out:
        out["unschedulable_plugins"] = sorted(out["unschedulable_plugins"])
    return out


def check(folder: Path) -> Counter[str]:
    """Replays all cases of a folder; returns how many there are of each kind."""
    expected = {case["name"]: case for case in read(folder / "expected.jsonl.gz")}
    kinds: Counter[str] = Counter()
    for case in read(folder / "cases.jsonl.gz"):
        name = case["name"]
        actual, wanted = replay_case(case), expected.pop(name)
        for part in ("attempts", "queue"):
            have, want = [plain(r) for r in actual[part]], [plain(r) for r in wanted[part]]
            assert have == want, f"{name}: {part}"
        assert actual["end"] == wanted["end"], name
        kinds[name.rsplit("-", 2)[0]] += 1
    assert not expected
    return kinds


@pytest.mark.parametrize("name", SETS)
def test_the_selection(name: str) -> None:
    assert check(HERE / name) == Counter(dict.fromkeys(kinds_of(name), 5))


@pytest.mark.skipif(not SHARED.exists(), reason="the whole set of cases is not beside the checkout")
@pytest.mark.parametrize("name", SETS)
def test_all_cases(name: str) -> None:
    assert set(check(SHARED / name)) == kinds_of(name)
