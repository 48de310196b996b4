"""Every attempt and every queue move happens when and why it happens in upstream kube-scheduler.

The short run replays the selection of each set in tests/golden, the long run the whole sets.
"""

from collections import Counter
from typing import Any

import pytest

from scheduler_core.commands.replay_time import replay_case
from tests.conformance import golden_cases, golden_decisions, golden_sets, known_differences
from tests.examples import selection

pytestmark = pytest.mark.slow

SETS = golden_sets(virtual_time=True)
KINDS = {
    *("affinity", "arrivals", "backoff", "gates", "irrelevant", "mixed", "nodeadd", "nodeupdate", "nonodes"),
    *("poddelete", "podupdate", "ports", "preempt", "profiles", "spread", "timeout"),
}


def kinds_of(name: str) -> set[str]:
    """Return the kinds of a set. Pods had no scheduling gates before 1.26."""
    return KINDS - {"gates"} if name in ("time-v1.22", "time-v1.24") else KINDS


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """Return the form to compare: without empty values, plugins without order, times in milliseconds."""
    out = {key: value for key, value in record.items() if value not in (None, "", [], {})}
    out["t"] = round(float(record["t"]), 3)
    if "unschedulable_plugins" in out:
        out["unschedulable_plugins"] = sorted(out["unschedulable_plugins"])
    return out


def check(name: str, whole: bool) -> Counter[str]:
    """Replay a set or its selection. Return the number of cases of each kind."""
    decisions, differing, kinds = golden_decisions(name, whole), {}, Counter[str]()
    for case in golden_cases(name, whole=whole):
        actual, wanted = replay_case(case), decisions.pop(case["name"])
        parts = [[plain(r) for r in actual[part]] == [plain(r) for r in wanted[part]] for part in ("attempts", "queue")]
        if count := [*parts, actual["end"] == wanted["end"]].count(False):
            differing[case["name"]] = count
        kinds[case["name"].rsplit("-", 2)[0]] += 1
    assert not decisions
    assert differing == known_differences(name)
    return kinds


@pytest.mark.parametrize("name", selection([name for name in SETS if not name.startswith("found/")], 4))
def test_the_selection(name: str) -> None:
    assert check(name, whole=False) == Counter(dict.fromkeys(kinds_of(name), 5))


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_all_cases(name: str) -> None:
    kinds = set(check(name, whole=True))
    assert kinds == kinds_of(name) or name.startswith("found/")
