"""The feature gates that affect scheduling, and the behaviours of a release that each of them controls.

Only gates whose effect is implemented, or that do not affect the simulation, are supported; others are refused.

Source: pkg/features/kube_features.go, pkg/scheduler/framework/plugins/feature, applyFeatureGates
(pkg/scheduler/apis/config/v1/default_plugins.go).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.releases.release import BEHAVIORS, PluginWeights, Release
from scheduler_core.releases.versions import is_within, numbered


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A feature gate.

    `since`: the first release in which the gate is supported. `on`: the releases in which it is on by default, as
    `versions.is_within` reads them.
    `locked`: the first release in which it cannot be changed. `until`: the last release that has it. "" means that
    there is none so far. `inverse`: its behaviours, which name it in their metadata, are on if the gate is off.
    `plugins`: default plugins that the gate appends. `needs`: gates that must also be on. `part_of`: the gate that
    controls its behaviours and plugins after `until`.
    """

    since: str
    on: str = ""
    locked: str = ""
    until: str = ""
    inverse: bool = False
    plugins: PluginWeights = ()
    needs: tuple[str, ...] = ()
    part_of: str = ""


GATES: Mapping[str, Gate] = {
    "DRAConsumableCapacity": Gate(since="1.36", on="1.36"),
    "DRADeviceBindingConditions": Gate(since="1.36", on="1.36"),
    "DRADeviceTaintRules": Gate(since="1.36", on="1.37", needs=("DRADeviceTaints",)),
    "DRADeviceTaints": Gate(since="1.36", on="1.36"),
    "DRAExtendedResource": Gate(since="1.36", on="1.36", locked="1.37"),
    "DRAFractionalCapacityRange": Gate(since="1.37", on="1.37"),
    "DRAPartitionableDevices": Gate(since="1.36", on="1.36"),
    "EvenPodsSpread": Gate(since="1.16", until="1.16"),
    "GenericEphemeralVolume": Gate(since="1.19", on="1.21", locked="1.23", until="1.24"),
    "GenericWorkload": Gate(since="1.36"),
    "InPlacePodVerticalScaling": Gate(since="1.33", on="1.33", locked="1.35"),
    "MatchLabelKeysInPodAffinity": Gate(since="1.29", on="1.31", locked="1.33"),
    "MatchLabelKeysInPodTopologySpread": Gate(since="1.25", on="1.27"),
    "MinDomainsInPodTopologySpread": Gate(since="1.24", on="1.27", locked="1.30", until="1.31"),
    "NodeInclusionPolicyInPodTopologySpread": Gate(since="1.25", on="1.26", locked="1.33"),
    "NodeDeclaredFeatures": Gate(since="1.35", on="1.36", locked="1.37", plugins=(("NodeDeclaredFeatures", 0),)),
    "GangScheduling": Gate(
        since="1.36",
        until="1.36",
        plugins=(("GangScheduling", 0),),
        needs=("GenericWorkload",),
        part_of="GenericWorkload",
    ),
    "TopologyAwareWorkloadScheduling": Gate(since="1.36", needs=("GenericWorkload",)),
    "WorkloadAwarePreemption": Gate(
        since="1.36", until="1.36", needs=("GenericWorkload", "GangScheduling"), part_of="GenericWorkload"
    ),
    "OpportunisticBatching": Gate(since="1.35", on="1.35"),
    "PodLevelResources": Gate(since="1.32", on="1.34"),
    "ResourceLimitsPriorityFunction": Gate(since="1.16", until="1.16"),
    "SchedulerAsyncPreemption": Gate(since="1.32", on="1.33"),
    "SchedulerPopFromBackoffQ": Gate(since="1.33", on="1.33"),
    "SchedulerQueueingHints": Gate(since="1.28", on="1.28.0 to 1.28.4, 1.32", locked="1.34", until="1.36"),
    "SidecarContainers": Gate(since="1.28", on="1.29", locked="1.33", until="1.36", inverse=True),
    "StorageCapacityScoring": Gate(since="1.33", on="1.37"),
    "TaintNodesByCondition": Gate(since="1.16", on="1.16", until="1.16"),
    "VolumeAttributesClass": Gate(since="1.31", on="1.34", locked="1.36"),
    "VolumeLimitScaling": Gate(since="1.36", on="1.37"),
    # These gates change how long the scheduler takes, when it writes and how long it waits. Writes take no time here.
    "InterPodAffinityHostnameFastPath": Gate(since="1.37"),
    "NominatedNodeNameForExpectation": Gate(since="1.34", on="1.35"),
    "SchedulerAsyncAPICalls": Gate(since="1.34"),
    "SchedulerPreQueueingHints": Gate(since="1.37"),
}
"""In the order of their plugins."""

NOT_SIMULATED: Mapping[str, tuple[str, str]] = {
    "CompositePodGroup": ("1.37", "the PodGroups of a CompositePodGroup are placed together"),
    "DRADerivedAttributes": ("1.37", "expressions derive attributes of devices, by which a claim compares them"),
    "DRADeviceCompatibilityGroups": ("1.37", "devices of one counter set are allocated together by their groups"),
    "DRAListTypeAttributes": ("1.36", "attributes of devices have several values"),
    "DRANodeAllocatableResources": ("1.36", "devices use resources of their node"),
    "DRAOptionalNodeOperations": ("1.37", "the kubelet prepares devices without their driver"),
    "DRAWorkloadResourceClaims": ("1.36", "the pods of a group share claims made from templates"),
    "InPlacePodLevelResourcesVerticalScaling": ("1.35", "the resources of a running pod as a whole change in place"),
    "InPlacePodVerticalScalingSchedulerPreemption": ("1.37", "pods are evicted for a pod that grows in place"),
    "PodGroupPreemptionPolicy": ("1.37", "a PodGroup can forbid its own preemption"),
    "TaintTolerationComparisonOperators": ("1.35", "tolerations compare numbers with the operators Lt and Gt"),
}
"""Gate of kube-scheduler -> the first release with it, and what it does. It is refused, because its effect is not
simulated. All are off by default but InPlacePodLevelResourcesVerticalScaling, which is on from 1.36 on."""

WHERE = "feature gates"
_TRUE, _FALSE = frozenset(("1", "t", "true")), frozenset(("0", "f", "false"))


def gates_of(release: Release) -> dict[str, bool]:
    """Return the gates of the release by name: name -> whether it is on."""
    return {
        name: release.feature_gates.get(name, bool(gate.on) and is_within(release.version, gate.on))
        for name, gate in sorted(GATES.items())
        if is_within(release.minor, gate.since, gate.until)
    }


def is_locked(release: Release, name: str) -> bool:
    """Whether the gate cannot be changed in the release."""
    locked = GATES[name].locked
    return bool(locked) and is_within(release.minor, locked)


def parse(text: str) -> dict[str, bool]:
    """Parse `A=true,B=false`, as kube-scheduler's --feature-gates. Raises InputError."""
    gates: dict[str, bool] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not part.strip():
            continue
        if not equals or value.lower() not in _TRUE | _FALSE:
            raise InputError(WHERE, name[:80], f"must be name=true or name=false, got {part.strip()[:80]!r}")
        gates[name] = value.lower() in _TRUE
    return gates


def spelled(gates: Mapping[str, bool]) -> str:
    """Format gates as `parse` accepts them."""
    return ",".join(f"{name}={'true' if on else 'false'}" for name, on in sorted(gates.items()))


def with_gates(release: Release, gates: Mapping[str, Any]) -> Release:
    """Return the release with these gates set. Its name lists the gates that differ from their defaults.

    Raises InputError that names the gate if it is unknown or not supported, locked, not a boolean, or lacks a gate that
    it needs.
    """
    if not gates:
        return release
    usual = gates_of(replace(release, feature_gates={}))
    wanted = gates_of(release)
    for name, on in gates.items():
        if name not in usual:
            raise InputError(WHERE, name[:80], _unknown(name, release, usual))
        if not isinstance(on, bool):
            raise InputError(WHERE, name, f"must be true or false, got {str(on)[:80]!r}")
        if on != usual[name] and is_locked(release, name):
            fixed = "true" if usual[name] else "false"
            raise InputError(WHERE, name, f"is locked to {fixed} since Kubernetes {GATES[name].locked}")
        wanted[name] = on
    for name, on in wanted.items():
        missing = [other for other in GATES[name].needs if on and not wanted[other]]
        if missing:
            raise InputError(WHERE, name, f"needs {' and '.join(missing)} to be on as well")
    set_ = {name: on for name, on in wanted.items() if on != usual[name]}
    behaviors = {field: gate for field, made in BEHAVIORS.items() if (gate := _ruling(made.gate, wanted))}
    values: dict[str, Any] = {field: wanted[gate] != GATES[gate].inverse for field, gate in behaviors.items()}
    return replace(
        release,
        name=" ".join(filter(None, (release.number, spelled(set_)))),
        feature_gates=set_,
        default_plugins=_plugins(release, wanted),
        **values,
    )


def with_known_gates(release: Release, gates: Mapping[str, bool]) -> Release:
    """Return the release with these gates set, except gates that it lacks or that are locked. Raises InputError."""
    known = gates_of(release)
    return with_gates(release, {n: on for n, on in gates.items() if n in known and not is_locked(release, n)})


def with_gates_of(release: Release, other: Release, own: Collection[str]) -> tuple[Release, list[str]]:
    """Return the release with the gates that another one has set, except those in `own`, and sentences about those that
    cannot be set."""
    notes, wanted = [], {}
    for name, on in other.feature_gates.items():
        if name in own:
            continue
        try:
            with_gates(release, {name: on, **dict.fromkeys(GATES[name].needs, True)} if on else {name: on})
            wanted[name] = on
        except InputError as problem:
            notes.append(f"The feature gate {name} of the cluster is left out: it {problem.problem}.")
    try:
        return with_gates(release, wanted), notes
    except InputError as problem:  # one of them needs a gate that `own` has off
        return release, [*notes, f"The feature gates of the cluster are left out: {problem.field} {problem.problem}."]


def _plugins(release: Release, wanted: Mapping[str, bool]) -> PluginWeights:
    """Return the default plugins: first those without a gate."""
    gated = {plugin for gate in GATES.values() for plugin, _ in gate.plugins}
    kept = [entry for entry in release.default_plugins if entry[0] not in gated]
    return (*kept, *(one for name, gate in GATES.items() if wanted.get(_ruling(name, wanted)) for one in gate.plugins))


def _ruling(name: str, wanted: Mapping[str, bool]) -> str:
    """Return the gate that controls what this gate controls in some release; "" if the release has neither."""
    if name in wanted or name not in GATES:
        return name if name in wanted else ""
    later = GATES[name].part_of
    return later if later in wanted else ""


def _unknown(name: str, release: Release, there: Mapping[str, bool]) -> str:
    if name in GATES:
        if numbered(release.minor) < numbered(GATES[name].since):
            return f"is available from Kubernetes {GATES[name].since} on, not in {release.number}"
        rest = f": it is part of {GATES[name].part_of}" if GATES[name].part_of else ""
        return f"is available up to Kubernetes {GATES[name].until}, not in {release.number}{rest}"
    if why := why_not_simulated(name):
        return why
    meant = get_close_matches(name[:80], list(GATES), 1, 0.8)
    if meant:
        return f"is not known; was {meant[0]} meant?"
    return f"is not one of the supported gates of {release.number}: {', '.join(there) or 'none'}"


def why_not_simulated(name: str) -> str:
    """Return why a gate of kube-scheduler is refused, whose effect is not simulated; "" for others."""
    since, effect = NOT_SIMULATED.get(name, ("", ""))
    return f"is not simulated: {effect} (from Kubernetes {since} on)" if effect else ""
