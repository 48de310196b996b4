"""Feature gates: their behaviours and releases, and rejected gates."""

import re
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, chosen_release, get_release, with_gates
from scheduler_core.releases.feature_gates import GATES, NOT_SIMULATED, gates_of, is_locked, parse, spelled
from scheduler_core.releases.release import BEHAVIORS
from scheduler_core.releases.versions import numbered
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

DOCS = Path(__file__).parents[3] / "docs"
WITHOUT_BEHAVIORS = {
    *("InterPodAffinityHostnameFastPath", "NominatedNodeNameForExpectation", "SchedulerPreQueueingHints"),
    "SchedulerAsyncAPICalls",
}


def behaviors_of(gate: str) -> list[str]:
    return [name for name, made in BEHAVIORS.items() if made.gate == gate]


def test_behaviors_name_their_gates() -> None:
    assert {gate for gate in GATES if not behaviors_of(gate)} == WITHOUT_BEHAVIORS


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_has_the_defaults_of_its_gates(name: str) -> None:
    release = RELEASES[name]
    plugins = {plugin for plugin, _ in release.default_plugins}
    for gate, on in gates_of(release).items():
        for field in behaviors_of(gate):
            assert getattr(release, field) == (on != GATES[gate].inverse), gate
        assert {plugin in plugins for plugin, _ in GATES[gate].plugins} <= {on}, gate
        assert with_gates(release, {gate: on}) == release


@pytest.mark.parametrize("name", RELEASES)
def test_a_toggled_gate_changes_only_its_behaviors_and_plugins(name: str) -> None:
    release = RELEASES[name]
    usual = gates_of(release)
    for gate, on in usual.items():
        if is_locked(release, gate):
            continue
        needed = dict.fromkeys(GATES[gate].needs, True)
        needing = {other: False for other, of in GATES.items() if gate in of.needs and usual.get(other)}
        changed = with_gates(release, {gate: not on} | (needing if on else needed))
        assert changed.feature_gates[gate] is not on
        assert get_release(changed.name) == changed
        assert (changed.number, changed.name) == (name, f"{name} {spelled(changed.feature_gates)}")
        for field in behaviors_of(gate):
            assert getattr(changed, field) == (on == GATES[gate].inverse)
        assert with_gates(changed, usual) == release


def test_the_plugin_of_a_gate_is_the_last_default_one() -> None:
    release = with_gates(RELEASES["1.35"], {"NodeDeclaredFeatures": True})
    assert release.default_plugins == (*RELEASES["1.35"].default_plugins, ("NodeDeclaredFeatures", 0))
    off = with_gates(RELEASES["1.36"], {"NodeDeclaredFeatures": False})
    assert off.default_plugins == RELEASES["1.36"].default_plugins[:-1]


def test_a_simulation_uses_its_gates() -> None:
    spec: dict[str, Any] = {"hostNetwork": True, "hostUsers": False}
    results = [
        next(Simulation([node("n1"), pod("p", **spec)], release=release).run()).result
        for release in ("1.35", "1.35 NodeDeclaredFeatures=true", "1.36", "1.36 NodeDeclaredFeatures=false")
    ]
    assert results == ["scheduled", "unschedulable", "unschedulable", "scheduled"]


@pytest.mark.parametrize(
    ("release", "gates", "problem"),
    [
        ("1.36", {"Fancy": True}, "Fancy: is not one of the supported gates of 1.36: .*NodeDeclaredFeatures"),
        ("1.36", {"NodeDeclaredFeature": True}, "NodeDeclaredFeature: is not known; was NodeDeclaredFeatures meant"),
        ("1.34", {"NodeDeclaredFeatures": False}, r"is available from Kubernetes 1\.35 on, not in 1\.34"),
        ("1.27", {"": True}, r"supported gates of 1\.27"),
        ("1.34", {"SchedulerQueueingHints": False}, r"SchedulerQueueingHints: is locked to true since"),
        ("1.37", {"SidecarContainers": True}, r"is available up to Kubernetes 1\.36, not in 1\.37"),
        ("1.37", {"SchedulerQueueingHints": True}, r"is available up to Kubernetes 1\.36, not in 1\.37"),
        ("1.37", {"GangScheduling": False}, r"is available up to Kubernetes 1\.36, not in 1\.37"),
        ("1.37", {"WorkloadAwarePreemption": False}, r"is available up to Kubernetes 1\.36, not in 1\.37"),
        ("1.37", {"GangScheduling": True}, r"not in 1\.37: it is part of GenericWorkload"),
        ("1.37", {"TopologyAwareWorkloadScheduling": True}, "needs GenericWorkload to be on as well"),
        ("1.37", {"CompositePodGroup": True}, r"is not simulated: the PodGroups of .* \(from Kubernetes 1\.37 on\)"),
        ("1.34", {"DRAListTypeAttributes": True}, r"is not simulated: attributes of devices .* 1\.36 on\)"),
        ("1.37", {"NodeDeclaredFeatures": False}, "is locked to true since Kubernetes 1.37"),
        ("1.37", {"DRAExtendedResource": False}, "is locked to true since Kubernetes 1.37"),
        ("1.37", {"DRADeviceTaints": False}, "DRADeviceTaintRules: needs DRADeviceTaints to be on as well"),
        ("1.36", {"NodeDeclaredFeatures": "yes"}, "must be true or false, got 'yes'"),
    ],
)
def test_invalid_gates_are_rejected(release: str, gates: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        with_gates(get_release(release), gates)


def test_a_locked_gate_may_be_set_to_its_value() -> None:
    assert get_release("1.34 SchedulerQueueingHints=true") == RELEASES["1.34"]


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", {}),
        ("A=true", {"A": True}),
        (" A=true , B=False,", {"A": True, "B": False}),
        ("A=1,B=0,C=t,D=F", {"A": True, "B": False, "C": True, "D": False}),
    ],
)
def test_text_is_parsed_like_the_flag_of_kube_scheduler(text: str, gates: dict[str, bool]) -> None:
    assert parse(text) == gates
    assert parse(spelled(gates)) == gates


@pytest.mark.parametrize("text", ["A", "A=", "A=yes", "=true,A", "A=true;B=true"])
def test_invalid_text(text: str) -> None:
    with pytest.raises(InputError, match="name=true or name=false"):
        parse(text)


def test_gates_that_are_not_simulated_are_documented() -> None:
    text = (DOCS / "configuration.md").read_text()
    assert all(f"* `{name}`, {since}: {effect}.\n" in text for name, (since, effect) in NOT_SIMULATED.items())
    assert not NOT_SIMULATED.keys() & GATES.keys()


def test_every_gate_is_documented() -> None:
    row = re.compile(r"^\| `(\w+)` \| ([\d.]*) ?\| ([\d.to, ]*?) ?\| ([\d.]*) ?\|", re.M)
    rows = row.findall((DOCS / "configuration.md").read_text())
    assert {name: tuple(releases) for name, *releases in rows} == {
        n: (g.since, g.on, g.locked) for n, g in GATES.items()
    }


def test_releases_are_ordered_by_number() -> None:
    assert sorted(["1.9", "1.27", "1.10"], key=numbered) == ["1.9", "1.10", "1.27"]


def test_a_chosen_release_keeps_the_gates_of_the_cluster():
    found = "1.36 GangScheduling=true,GenericWorkload=true"
    same, notes = chosen_release("1.36", found)
    assert (same.name, notes) == (found, [])
    assert chosen_release("", found)[0].name == found
    assert chosen_release("1.36.2", found)[0].name == found
    own, notes = chosen_release("1.36 GangScheduling=false,OpportunisticBatching=false", found)
    assert own.feature_gates == {"OpportunisticBatching": False, "GenericWorkload": True}
    assert not notes
    off, notes = chosen_release("1.36 GenericWorkload=false", found)
    assert off.name == "1.36"
    assert notes == [
        "The feature gates of the cluster are left out: GangScheduling needs GenericWorkload to be on as well."
    ]


def test_gates_that_a_chosen_release_lacks_are_named():
    older, notes = chosen_release("1.34", "1.36 GangScheduling=true,GenericWorkload=true")
    assert older.name == "1.34"
    why = "of the cluster is left out: it is available from Kubernetes 1.36 on, not in 1.34."
    assert notes == [f"The feature gate {name} {why}" for name in ("GangScheduling", "GenericWorkload")]
