"""Every field of every cycle agrees with upstream kube-scheduler, except for the known differences.

The short run replays the selection of each set in tests/golden, the long run the whole sets.
"""

from collections import Counter
from typing import Any

import msgspec
import pytest

from scheduler_core.commands.replay import replay_case
from scheduler_core.errors import InputError
from tests.conformance import golden_cases, golden_decisions, golden_sets, known_differences

FIELDS = (
    *("pod", "preenqueue", "prefilter", "skipped_filter", "filter", "filter_all", "feasible", "skipped_score", "score"),
    *("total", "best", "selected", "reserve", "fit_error", "unschedulable_plugins", "postfilter", "error"),
    *("extender_score", "claims", "batch_hint", "group", "preempt"),
    *("permit", "activates", "released", "waiting_rejected"),
)
IN_ORDER = ("victims", "released", "queue_order")  # lists whose order counts
# The kinds of cases of all releases, and those that were added or removed.
KINDS = {
    *("affinity", "images", "mixed", "podaffinity", "ports", "preemptaff", "preemption", "resources", "sampling"),
    *("taints", "volumes"),
}
QUICK = {"v1.16", "v1.24", "v1.30", "v1.37"}  # the sets whose selections `make check` replays
KINDS_SINCE = {"defaultspread": 17, "spread": 18, "fitconfig": 22, "gates": 27}
KINDS_IN = {"controllers": (17, 18, 19, 21), "pluginargs": (18, 19, 21), "component": (17,)}


def by_text(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def plain(value: Any, key: str = "") -> Any:
    """Return the form to compare: without empty values, and lists without order, except for IN_ORDER."""
    if isinstance(value, dict):
        compared = {k: plain(v, k) for k, v in value.items()}
        return {k: v for k, v in compared.items() if v not in (None, "", [], {})}
    if isinstance(value, list):
        return value if key in IN_ORDER else sorted(map(plain, value), key=by_text)
    return value


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """Return the fields in which two cycles differ, with both values."""
    assert set(expected) <= set(FIELDS), "a field that is not compared"
    found = []
    for field in FIELDS:
        want, have = plain(expected.get(field), field), plain(actual.get(field), field)
        if field == "error":  # whether there is one; its text is not compared
            want, have = bool(want), bool(have)
        if field in ("postfilter", "preempt") and want and have:
            equals = want.pop("nominated_any_of", [])
            have.pop("nominated_any_of", None)
            if have.get("nominated_node") in equals:
                have["nominated_node"] = want.get("nominated_node")
        if (want or have) and want != have:
            found.append(f"{field}: expected {str(want)[:600]}, got {str(have)[:600]}")
    return found


def cycles_that_differ(case: dict[str, Any], want: dict[str, Any]) -> int:
    """Replay a case. Return how many of its cycles differ from upstream's in any field."""
    try:
        have = replay_case(case)
    except InputError:
        return len(want["cycles"])
    if "refused" in want:  # whether it is set; the text is not compared
        return int("refused" not in have)
    if have["node_order"] != want["node_order"] or len(have["cycles"]) != len(want["cycles"]):
        return len(want["cycles"])
    if any(plain(have.get(field), field) != plain(want.get(field), field) for field in ("queue_order", "end")):
        return len(want["cycles"])
    return sum(bool(differences(*pair)) for pair in zip(want["cycles"], have["cycles"], strict=True))


def check(name: str, whole: bool) -> Counter[str]:
    """Replay a set or its selection. Return the number of cycles of each kind."""
    decisions = golden_decisions(name, whole)
    cycles, differing = Counter[str](), {}
    for case in golden_cases(name, whole=whole):
        want = decisions.pop(case["name"])
        if count := cycles_that_differ(case, want):
            differing[case["name"]] = count
        cycles[case["name"].split("-")[0]] += len(want["cycles"]) or 1
    assert not decisions, "decisions without a case"
    known = known_differences(name)
    seen = {case["name"] for case in golden_cases(name, whole=whole)}
    assert differing == {case: count for case, count in known.items() if case in seen}
    return cycles


def quick_slow_or_long(name: str) -> Any:
    """`make test` replays every eighth release, the default and QUICK; `make long` all, and the whole sets."""
    minor = name.removeprefix("v1.")
    seldom = minor.isdigit() and int(minor) % 8 and name not in {*QUICK, "v1.34"}
    between = seldom or (name.startswith("areas") and name != "areas-1.37/dra")
    return pytest.param(name, marks=pytest.mark.long if between else () if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", [quick_slow_or_long(name) for name in golden_sets()])
def test_the_selection_agrees(name: str) -> None:
    cycles = check(name, whole=False)
    if name.startswith("v1."):  # a release has every kind; an area is one
        minor = int(name.removeprefix("v1."))
        kinds = KINDS | {kind for kind, since in KINDS_SINCE.items() if minor >= since}
        assert set(cycles) == kinds | {kind for kind, minors in KINDS_IN.items() if minor in minors}
        assert sum(cycles.values()) > 200


@pytest.mark.long
@pytest.mark.parametrize("name", golden_sets())
def test_all_cases_agree(name: str) -> None:
    assert check(name, whole=True)


def test_the_comparison_finds_every_kind_of_difference() -> None:
    """Each changed field of a cycle is reported."""
    case = next(c for c in golden_decisions("v1.34").values() if c["name"].startswith("preemption"))
    for cycle in case["cycles"]:
        assert not differences(cycle, cycle)
        for field in cycle:
            if plain(cycle[field]):
                assert differences(cycle, {**cycle, field: None}), field
        if cycle.get("filter"):
            node, status = next(iter(cycle["filter"].items()))
            changed = {**cycle["filter"], node: {**status, "reasons": [*status.get("reasons", ()), "more"]}}
            assert differences(cycle, {**cycle, "filter": changed})
