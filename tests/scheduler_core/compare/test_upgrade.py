"""Upgrade preview: every pod that differs is listed with a sufficient cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from scheduler_core.compare.alone import outcomes_alone
from scheduler_core.compare.deltas import applied_to, deltas_of
from scheduler_core.compare.inputs import Inputs, Outcome, Refusals, only_words, outcomes, refusals_of
from scheduler_core.compare.upgrade import DECISIONS, NOMINATED, REASONS, WORDS, UpgradeStep, step, upgrade
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.compare.causes import inputs_of
from tests.scheduler_core.compare.test_cause import inputs

pytestmark = pytest.mark.slow


def no_interruption() -> None:
    pass


def check(a: Inputs, b: Inputs, found: UpgradeStep) -> None:
    """Compare with runs of a, of b, and of a with the cause applied."""
    before, after = outcomes(a, no_interruption), outcomes(b, no_interruption)
    assert found.pods == len({**before, **after})
    results = {one.pod: one for one in found.changed}
    assert {name for name in {**before, **after} if before.get(name) != after.get(name)} == set(results)
    units = deltas_of(a, b)
    for one in found.changed:
        assert (one.a, one.b) == (before.get(one.pod), after.get(one.pod))
        assert one.cause, one
        with_it = outcomes(applied_to(a, b, [units[i] for i in sorted(one.cause)]), no_interruption)
        assert one.is_that(with_it[one.pod]), one
        decided = one.a is None or one.b is None or one.a.decision != one.b.decision
        assert (one.change in DECISIONS) == decided
        if one.minimal_cause.minimal and len(one.cause) < 3:
            for size in range(len(one.cause)):
                for some in combinations(range(len(units)), size):
                    assert not one.is_that(
                        outcomes(applied_to(a, b, [units[i] for i in some]), no_interruption)[one.pod]
                    ), some
    assert sum(found.summary.values()) == found.pods
    assert sum(len(names) for group in found.groups() for names in group.pods.values()) == len(found.changed)


@pytest.mark.generated
def test_conformance_cases() -> None:
    seen: Counter[str] = Counter()
    for case in sample([case for case in golden_cases("v1.27") if not case.get("config")], 30):
        a, b = inputs_of(case, "1.27"), inputs_of(case, "1.34")
        found = step(a, b)
        check(a, b, found)
        seen.update(one.change for one in found.changed)
    assert seen["moved"]
    assert seen[WORDS]


@pytest.mark.parametrize("old", ["1.18", "1.19", "1.22"])
def test_many_releases(old: str) -> None:
    """Releases between two others have plugins that the versions of their configuration do not know."""
    nodes = [node(f"n{i}", cpu="4", zone="xxy"[i]) for i in range(3)]
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"a": "b"}}}
    pods = [pod(f"p{i}", labels={"a": "b"}, requests={"cpu": f"{i + 1}"}) for i in range(5)]
    given = inputs(*nodes, *pods, service)
    a, b = (replace(given, release=get_release(name)) for name in (old, "1.34"))
    found = step(a, b)
    assert found.changed
    check(a, b, found)


def test_a_release_and_itself() -> None:
    a = inputs(node("n1"), pod("p"), pod("big", requests={"cpu": "64"}))
    found = step(a, a)
    assert (found.changed, found.runs, found.as_dict()["sentence"]) == ([], 2, "All 2 pods have the same outcome.")


def test_all_releases() -> None:
    """Each step starts from the previous one, whatever releases there are."""
    a = inputs(node("n1", cpu="2"), node("n2"), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(9)))
    found = list(upgrade([replace(a, release=release) for release in RELEASES.values()]))
    names = list(RELEASES)
    assert [(one.a, one.b) for one in found] == list(pairwise(names))
    for one in found:
        check(replace(a, release=get_release(one.a)), replace(a, release=get_release(one.b)), one)


def test_messages_reasons_and_decisions_are_distinguished() -> None:
    """1.27 ends the message of PostFilter with two full stops; 1.28 counts sidecars."""
    side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    a = inputs(
        node("n1", cpu="4"),
        node("n2", cpu="2"),
        pod("big", requests={"cpu": "64"}),
        pod("chatty", requests={"cpu": "2"}, initContainers=[side], nodeSelector={"kubernetes.io/hostname": "n1"}),
        pod("late", requests={"cpu": "3"}, nodeSelector={"kubernetes.io/hostname": "n1"}),
        release=get_release("1.27"),
    )
    found = step(a, replace(a, release=get_release("1.34")))
    changes = {"default/chatty": "lost", "default/late": "gained", "default/big": WORDS}
    assert {one.pod: one.change for one in found.changed} == changes
    causes = {one.pod: [found.units[i].path for i in sorted(one.cause or ())] for one in found.changed}
    assert causes["default/chatty"] == causes["default/late"] == ["sidecar_containers"]
    results = found.as_dict()
    decisions = "1 pod is placed and 1 loses its node; 1 of 3 pods has the same outcome."
    assert results["sentence"] == f"{decisions} 1 message differs only in wording."
    assert next(group.decisions for group in found.groups()) == 2


def refusals(**plugins: str) -> Refusals:
    """Return bits of four nodes by plugin. `looked`: the evaluated nodes."""
    return {"" if name == "looked" else name: bytes([int(bits, 2) << 4]) for name, bits in plugins.items()}


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (refusals(looked="1111", X="1111"), refusals(looked="1111", X="1111"), True),
        (refusals(looked="1111", X="1111"), refusals(looked="1111", X="0111", Y="1000"), False),
        (refusals(looked="1111", X="1111"), refusals(looked="0011", X="0011"), True),  # the others were not evaluated
        (refusals(looked="1111", X="1100", Y="0011"), refusals(looked="1111", X="1100", Y="0011"), True),
        ({"X": b""}, {"X": b""}, True),
        ({"X": b""}, {"Y": b""}, False),
        ({"X": b""}, refusals(looked="1111", X="1111"), True),
        ({"X": b""}, refusals(looked="1111", X="1110", Y="0001"), False),
    ],
)
def test_message_changes_only(a: Refusals, b: Refusals, same: bool) -> None:
    assert only_words(a, b) == only_words(b, a) == same


def test_rejections_of_a_cycle() -> None:
    objects = [node("n1"), node("n2", unschedulable=True), pod("p", requests={"cpu": "64"})]
    (trace,) = Simulation(objects).run()
    results = refusals_of(trace)
    assert results[""][0] == 0b11000000
    assert results["NodeResourcesFit"][0] == 0b11000000
    assert results["NodeUnschedulable"][0] == 0b01000000


def test_a_preview_can_be_stopped_and_is_bounded() -> None:
    class Enough(Exception):
        pass

    a = inputs(node("n1"), pod("big", requests={"cpu": "64"}), release=get_release("1.27"))
    b = replace(a, release=get_release("1.34"))
    results: list[tuple[int, int]] = []

    def watch(most: int) -> Callable[[int, int], None]:
        def one(done: int, planned: int) -> None:
            results.append((done, planned))
            if done == most:
                raise Enough

        return one

    with pytest.raises(Enough):
        step(a, b, watch(5))
    assert all(done < planned for done, planned in results)
    assert step(a, b, most_runs=5).note == "stopped after 5 runs; 1 pod without a cause"
    assert "so no cause is known" in step(a, b, clock=iter(range(0, 10**6, 1000)).__next__).note
    with pytest.raises(InputError, match="both runs must be single passes"):
        step(a, replace(b, time={}, until=10))


def test_an_outcome_has_a_decision_and_a_message() -> None:
    one = Outcome("unschedulable", "", "n1", ("default/low",), "no")
    assert one.decision == one._replace(message="not").decision
    assert one.decision != one._replace(nominated="n2").decision
    assert {NOMINATED, REASONS, WORDS} - set(DECISIONS) == {REASONS, WORDS}


def test_direct_and_indirect_changes() -> None:
    """1.28 counts sidecars: `chatty` no longer fits. `late` takes its place, and would have fitted alone before."""
    side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    a = inputs(
        node("n1", cpu="4"),
        pod("chatty", requests={"cpu": "2"}, initContainers=[side], priority=1),
        pod("late", requests={"cpu": "3"}),
        release=get_release("1.27"),
    )
    found = step(a, replace(a, release=get_release("1.34")))
    assert {one.pod: (one.change, one.direct) for one in found.changed} == {
        "default/chatty": ("lost", True),
        "default/late": ("gained", False),
    }
    assert found.as_dict()["direct_sentence"].startswith("1 of 2 changes is direct: ")


def test_a_rescheduled_pod_is_alone_among_pods_on_their_nodes() -> None:
    """`runs` uses all of n1. Without it, `waits` would fit."""
    a = inputs(node("n1", cpu="4"), pod("runs", requests={"cpu": "4"}), pod("waits", requests={"cpu": "1"}))
    alone = outcomes_alone(a, ["default/runs", "default/waits"])
    assert {name: one.node for name, one in alone.items()} == {"default/runs": "n1", "default/waits": "n1"}
    alone = outcomes_alone(replace(a, bound={"default/runs": "n1"}), ["default/runs", "default/waits"])
    assert {name: one.node for name, one in alone.items()} == {"default/runs": "n1", "default/waits": ""}


def test_deltas_without_effect_are_excluded_together() -> None:
    """A step over many releases has some fifty behaviors, of which two matter here."""
    side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    a = inputs(node("n1", cpu="4"), pod("p", requests={"cpu": "2"}, initContainers=[side]), release=get_release("1.27"))
    found = step(a, replace(a, release=get_release("1.34")))
    assert len(found.units) > 40
    assert found.runs < 35
