"""Every field of every cycle is what upstream kube-scheduler decided.

The selections beside the tests (`tests/golden/`, whatever folder has cases) always run. Of each of them the whole set,
and the cases made from real clusters, lie beside the checkout (`../shared`) where they are available.
"""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_core.commands.replay import replay_case

HERE = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[3] / "shared"
SETS = sorted(
    str(path.parent.relative_to(HERE)) for path in HERE.rglob("cases.jsonl.gz") if "time" not in path.parent.name
)

FIELDS = (
    *("pod", "preenqueue", "prefilter", "skipped_filter", "filter", "filter_all", "feasible", "skipped_score", "score"),
    *("total", "best", "selected", "reserve", "fit_error", "unschedulable_plugins", "postfilter", "error"),
    *("extender_score", "claims", "batch_hint", "group", "preempt"),
)
KINDS = {
    *("affinity", "defaultspread", "fitconfig", "gates", "images", "mixed", "podaffinity", "ports", "preemptaff"),
    *("preemption", "resources", "sampling", "spread", "taints", "volumes"),
}


YOUNGER = {"defaultspread", "fitconfig", "gates", "spread"}  # than predicates


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as stream:
        yield from map(msgspec.json.decode, stream)


def by_text(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def plain(value: Any, key: str = "") -> Any:
    """The form that is compared: nothing empty; lists without order, but for victims."""
    if isinstance(value, dict):
        said = {k: plain(v, k) for k, v in value.items()}
        return {k: v for k, v in said.items() if v not in (None, "", [], {})}
    if isinstance(value, list):
        return value if key == "victims" else sorted(map(plain, value), key=by_text)
    return value


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """The fields in which two cycles differ, with both values."""
    assert set(expected) <= set(FIELDS), "a field that nobody compares"
    found = []
    for field in FIELDS:
        want, have = plain(expected.get(field)), plain(actual.get(field))
        if field == "error":  # whether there is one; its words are free
            want, have = bool(want), bool(have)
        if field in ("postfilter", "preempt") and want and have:
            equals = want.pop("nominated_any_of", [])
            have.pop("nominated_any_of", None)
            if have.get("nominated_node") in equals:
                have["nominated_node"] = want.get("nominated_node")
        if (want or have) and want != have:
            found.append(f"{field}: expected {str(want)[:600]}, got {str(have)[:600]}")
    return found


def check(cases: Path, expected: Path) -> Counter[str]:
    """Replays all cases; returns how many cycles there were of each kind."""
    decisions = {case["name"]: case for case in read(expected)}
    cycles: Counter[str] = Counter()
    for case in read(cases):
        want, have = decisions.pop(case["name"]), replay_case(case)
        if "refused" in want:  # whether it is; the words are free
            assert have["refused"], case["name"]
            cycles["refused"] += 1
            continue
        assert have["node_order"] == want["node_order"], case["name"]
        assert len(have["cycles"]) == len(want["cycles"]), case["name"]
        for upstream, ours in zip(want["cycles"], have["cycles"], strict=True):
            assert not differences(upstream, ours), f"{case['name']} {upstream['pod']}"
            cycles[case["name"].split("-")[0]] += 1
    assert not decisions, "decisions without a case"
    return cycles


WHOLE = {"v1.16", "v1.27", "v1.34"}


@pytest.mark.parametrize("name", SETS)
def test_the_committed_selection_agrees(name: str) -> None:
    cycles = check(HERE / name / "cases.jsonl.gz", HERE / name / "expected.jsonl.gz")
    if name.startswith("v1."):  # a release has every kind; an area is one
        younger = YOUNGER if name == "v1.16" else {"gates"} if name < "v1.27" else set()
        younger = younger | {"fitconfig"} if name < "v1.22" else younger
        assert set(cycles) == KINDS - younger
        assert sum(cycles.values()) > 200


def at_length(name: str) -> list[pytest.MarkDecorator]:
    """`make test` replays every case of three releases, and of all others and the areas the selection."""
    return [] if name in WHOLE else [pytest.mark.long]


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        *(
            pytest.param(f"golden/{name}/cases.jsonl.gz", f"golden/{name}/expected.jsonl.gz", marks=at_length(name))
            for name in SETS
        ),
        ("real/replay-cases.jsonl.gz", "real/replay-expected.jsonl.gz"),
    ],
)
def test_all_cases_agree(cases: str, expected: str) -> None:
    if not (SHARED / cases).exists():
        pytest.skip("../shared is not beside the checkout")
    assert check(SHARED / cases, SHARED / expected)


def test_the_comparison_sees_every_kind_of_difference() -> None:
    """The test's own comparison can fail: each field of a cycle, changed, is reported."""
    case = next(c for c in read(HERE / "v1.34" / "expected.jsonl.gz") if c["name"].startswith("preemption"))
    for cycle in case["cycles"]:
        assert not differences(cycle, cycle)
        for field in cycle:
            if plain(cycle[field]):
                assert differences(cycle, {**cycle, field: None}), field
        if cycle.get("filter"):
            node, status = next(iter(cycle["filter"].items()))
            changed = {**cycle["filter"], node: {**status, "reasons": [*status.get("reasons", ()), "more"]}}
            assert differences(cycle, {**cycle, "filter": changed})
