"""Finds the release and the configuration of the kube-scheduler of a live cluster.

`fetch` reads the few objects that say something about the scheduler and that no other answer needs; nothing stores
them. `discover` derives release and configuration from these, without a request. What a cluster sends is not trusted:
sizes are bounded, texts are quoted, and credentials are removed from configurations.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import yaml

from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, GROUP, KIND, POLICY
from scheduler_core.api.syntax import shown
from scheduler_core.config.discovery import chosen, configurations_in
from scheduler_core.config.document import MAX_BYTES, read_documents
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.live.published_configurations import GKE_PACKING, choices, published
from scheduler_core.live.scheduler_pods import (
    MAX_PODS,
    ConfigMapKey,
    Flags,
    SchedulerPod,
    flags_in,
    locate,
    mapping,
    mappings,
    may_run_scheduler,
    scheduler_pods,
    text,
    texts,
)
from scheduler_core.live.store import Store
from scheduler_core.live.transport import Transport, TransportError
from scheduler_core.releases import NEWEST, RELEASES, Release, get_release
from scheduler_core.releases.feature_gates import gates_of, is_locked, parse, why_not_simulated, with_known_gates
from scheduler_core.releases.versions import minor_of, numbered

KUBEADM = "kube-system/kubeadm-config"
OPENSHIFT = "openshift-kube-scheduler/config"
OPENSHIFT_SCHEDULER = "/apis/config.openshift.io/v1/schedulers/cluster"
AKS_CONFIGURATION = "/apis/aks.azure.com/v1alpha1/schedulerconfigurations/upstream"
MAX_NOTES = 20
MAX_NOTE = 500  # characters
MAX_BODY = 2 * MAX_BYTES  # bytes of one object
READ_TIMEOUT = 15.0  # seconds
_OPENSHIFT_PROFILES = {
    "": "",
    "LowNodeUtilization": "",
    "HighNodeUtilization": "openshift-high-node-utilization",
    "NoScoring": "openshift-no-scoring",
}
_NODE_ARGUMENTS = ("k3s.io/node-args", "rke2.io/node-args")
GROUP_GATES = {"GenericWorkload": True, "GangScheduling": True}
_VERSION = re.compile(r"v?(\d{1,3}\.\d{1,3}(?:\.\d{1,4}(?!\d))?)(?!\d)")
_IGNORED_SECTIONS = ("clientConnection", "leaderElection")


class SchedulerObjects(NamedTuple):
    """Objects of a cluster that say something about its scheduler, as JSON, and the requests that failed.

    `failures`: path -> reason, such as "the server refuses it (403)".
    """

    objects: tuple[Mapping[str, Any], ...] = ()
    failures: Mapping[str, str] = {}


class Discovered(NamedTuple):
    """What is known about the scheduler of a cluster.

    `release`: as `get_release` accepts it, with feature gates. `config`: a KubeSchedulerConfiguration or Policy as
    YAML, without credentials; "" is the default configuration of the release. `release_source`, `config_source`: where
    each was found, or why the default configuration is used. `notes`: sentences about what is uncertain, contradictory
    or not readable, at most MAX_NOTES. `platform`: EKS, GKE, AKS, OpenShift, k3s, RKE2 or "". `choices`: names in
    PUBLISHED to offer, the platform's first.
    """

    release: str
    release_source: str
    config: str
    config_source: str
    notes: tuple[str, ...]
    platform: str
    choices: tuple[str, ...]


# --- reading ---


async def fetch_version(transport: Transport) -> dict[str, Any]:
    """Read /version, which changes when the control plane is upgraded; {} if it cannot be read."""
    found = await _get(transport, "/version")
    return found if isinstance(found, dict) else {}


async def fetch(transport: Transport, store: Store, version: Mapping[str, Any]) -> SchedulerObjects:
    """Read the pods that run a scheduler, and the objects that configure it. At most MAX_PODS + 20 small requests.

    `store`: with nodes and pods. `version`: the answer of /version.
    """
    objects: list[Mapping[str, Any]] = []
    failures: dict[str, str] = {}

    async def read(path: str, kind: str) -> None:
        found = await _get(transport, path)
        if isinstance(found, str):
            failures[path] = found
        else:
            objects.append({"kind": kind, **found})

    candidates = sorted(filter(may_run_scheduler, _pods(store)), key=lambda pod: "kube-sched" not in pod.key)
    for pod in candidates[:MAX_PODS]:
        await read(f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}", "Pod")
    platform = platform_of(store, version)
    if platform == "OpenShift":
        await read(OPENSHIFT_SCHEDULER, "Scheduler")
    elif platform == "AKS":
        await read(AKS_CONFIGURATION, "SchedulerConfiguration")
    wanted = {KUBEADM: None} if not platform else {OPENSHIFT: None} if platform == "OpenShift" else {}
    for one in scheduler_pods(objects):
        if (place := _file_of(one)) and isinstance(place, ConfigMapKey):
            wanted[place.config_map] = None
    for name in list(wanted)[:20]:
        await read(_config_map_path(name), "ConfigMap")
    return SchedulerObjects(tuple(objects), failures)


async def _get(transport: Transport, path: str) -> dict[str, Any] | str:
    """Return an object, or why it cannot be read; "" if there is none."""
    body = bytearray()
    try:
        async with asyncio.timeout(2 * READ_TIMEOUT), transport.get(path, {}, read_timeout=READ_TIMEOUT) as response:
            if response.status == 404:
                return ""
            if response.status == 403:
                return "the server refuses it (403)"
            if response.status != 200:
                return f"the server answered {response.status}"
            async for chunk in response.chunks():
                body += chunk
                if len(body) > MAX_BODY:
                    return f"it is larger than {MAX_BODY // 1_000_000} MB"
        found = json.loads(bytes(body))
    except TimeoutError:
        return f"the server did not answer within {2 * READ_TIMEOUT:g} s"
    except TransportError as error:
        return str(error).rstrip(".")
    except (ValueError, RecursionError):
        return "the answer is not JSON"
    return found if isinstance(found, dict) else "the answer is not an object"


def _config_map_path(name: str) -> str:
    namespace, _, name = name.partition("/")
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


# --- deriving ---


def discover(store: Store, version: Mapping[str, Any], raw: SchedulerObjects) -> Discovered:
    """Return the release and the configuration of the cluster's scheduler.

    `store`: with nodes and pods. `version`: the answer of /version. `raw`: of `fetch`. Never raises an exception about
    what the cluster contains: it becomes a note.
    """
    return _Discovery(store, version, raw).discovered()


def platform_of(store: Store, version: Mapping[str, Any]) -> str:
    """Return EKS, GKE, AKS, OpenShift, k3s, RKE2 or ""."""
    if name := platform_of_version(text(version.get("gitVersion"))):
        return name
    for node in _nodes(store):
        if "node.openshift.io/os_id" in node.metadata.labels:
            return "OpenShift"
        if "kubernetes.azure.com/cluster" in node.metadata.labels:
            return "AKS"
    return "OpenShift" if any(pod.metadata.namespace == "openshift-kube-scheduler" for pod in _pods(store)) else ""


def platform_of_version(git_version: str) -> str:
    """Return the platform that a version such as v1.34.2-eks-3cfe0ce names, or ""."""
    marks = (("-eks-", "EKS"), ("-gke.", "GKE"), ("+k3s", "k3s"), ("+rke2", "RKE2"))
    return next((name for mark, name in marks if mark in git_version), "")


def _nodes(store: Store) -> Iterator[Node]:
    return (node for node in store.objects("Node") if isinstance(node, Node))


def _pods(store: Store) -> Iterator[Pod]:
    return (pod for pod in store.objects("Pod") if isinstance(pod, Pod))


def _full_name(obj: Mapping[str, Any]) -> str:
    metadata = mapping(obj.get("metadata"))
    return f"{text(metadata.get('namespace'))}/{text(metadata.get('name'))}"


def _file_of(one: SchedulerPod) -> ConfigMapKey | str:
    """Return where the configuration or Policy of a scheduler is, or why it cannot be read; "" if it has none."""
    flags = one.flags
    if path := flags.get("config") or flags.get("policy-config-file"):
        return locate(one, path)
    if name := flags.get("policy-configmap"):
        return ConfigMapKey(f"{flags.get('policy-configmap-namespace', 'kube-system')}/{name}", "policy.cfg")
    return ""


class _Discovery:
    """One derivation. It collects notes in the order of importance for the reader."""

    def __init__(self, store: Store, version: Mapping[str, Any], raw: SchedulerObjects) -> None:
        self.store, self.version, self.failures = store, version, raw.failures
        self.platform = platform_of(store, version)
        self.notes: list[str] = []
        of_kind = {kind: [obj for obj in raw.objects if obj.get("kind") == kind] for kind in ("Pod", "ConfigMap")}
        self.custom = {text(obj.get("kind")): obj for obj in raw.objects}
        self.config_maps = {_full_name(obj): obj for obj in of_kind["ConfigMap"]}
        schedulers = scheduler_pods(of_kind["Pod"])
        self.control_plane = [one for one in schedulers if one.in_control_plane]
        self.further = [one for one in schedulers if not one.in_control_plane]
        self.kubeadm = self._kubeadm()

    def discovered(self) -> Discovered:
        release, release_source = self._release()
        flags, flags_source = self._flags()
        release = self._with_gates(release, flags, flags_source)
        config, config_source = self._configuration(release, flags, flags_source)
        config, config_source = self._with_further(config, config_source, release)
        return Discovered(
            release=release.name,
            release_source=_storable(release_source),
            config=yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=1000) if config else "",
            config_source=_storable(config_source),
            notes=tuple(self.notes[:MAX_NOTES]),
            platform=self.platform,
            choices=choices(self.platform, release),
        )

    def _note(self, sentence: str) -> None:
        line = _storable(sentence)
        if line not in self.notes:
            self.notes.append(line)

    # --- the release ---

    def _release(self) -> tuple[Release, str]:
        server = _number(text(self.version.get("gitVersion"))) or _number(
            f"{self.version.get('major')}.{self.version.get('minor')}"
        )
        images = [(number, one.key) for one in self.control_plane if (number := _number(_tag(one.image)))]
        if images:
            counts = Counter(number for number, _ in images)
            number = max(counts, key=lambda number: (counts[number], numbered(number)))
            if len(counts) > 1:
                found = ", ".join(sorted(counts, key=numbered))
                self._note(f"The pods of kube-scheduler have the releases {found}; {number} is used.")
            elif server and server != number:
                self._note(f"The API server has the release {server}, and kube-scheduler {number}.")
            key = next(key for one, key in images if one == number)
            return self._known(number), f"image of pod {key}"
        if server:
            return self._known(server), "/version of the API server"
        if number := _number(text(self.kubeadm.get("kubernetesVersion"))):
            return self._known(number), f"ConfigMap {KUBEADM}"
        self._note(f"The cluster does not tell its release; {NEWEST} is used.")
        return get_release(NEWEST), "the newest release that KubeSched has"

    def _known(self, number: str) -> Release:
        if minor_of(number) in RELEASES:
            return get_release(number)
        oldest = min(RELEASES, key=numbered)
        used, what = (oldest, "older") if numbered(number) < numbered(oldest) else (NEWEST, "newer")
        self._note(f"The cluster runs {number}, which is {what} than the releases that KubeSched has; {used} is used.")
        return get_release(used)

    def _with_gates(self, release: Release, flags: Flags, source: str) -> Release:
        """Return the release with the feature gates of the flags; gates without an effect here are noted."""
        if not source and GROUP_GATES.keys() <= gates_of(release).keys() and self._has_groups():
            self._note(f"Pods name pod groups, so the feature gates {_few(GROUP_GATES)} are taken as enabled.")
            return with_known_gates(release, GROUP_GATES)
        try:
            gates = parse(flags.get("feature-gates", ""))
            changed = with_known_gates(release, gates)
        except InputError as error:
            self._note(f"The feature gates of {source} are left out: {error}.")
            return release
        known = gates_of(release)
        locked = [name for name, on in gates.items() if known.get(name, on) != on and is_locked(release, name)]
        groups = [name for name in ("AllAlpha", "AllBeta") if name in gates]
        for name, on in gates.items():
            if on and name not in known and (why := why_not_simulated(name)):
                self._note(f"The feature gate {name} of {source} is left out: it {why}.")
        if locked:
            self._note(f"{_few(locked)} cannot be changed in {release.number}; the default is used.")
        if groups:
            self._note(f"The feature gates {_few(groups)} of {source} are left out; single gates are used.")
        return changed

    def _has_groups(self) -> bool:
        """Return whether a pod names a pod group: the API server stores that only if GenericWorkload is enabled."""
        return any(pod.spec.scheduling_group is not None for pod in _pods(self.store))

    # --- flags ---

    def _kubeadm(self) -> Mapping[str, Any]:
        """Return the ClusterConfiguration of kubeadm."""
        given = mapping(mapping(self.config_maps.get(KUBEADM)).get("data")).get("ClusterConfiguration")
        if isinstance(given, str):
            try:
                return next(map(mapping, read_documents(given, f"ConfigMap {KUBEADM}")), {})
            except InputError as error:
                self._note(f"{error}.")
        return {}

    def _flags(self) -> tuple[Flags, str]:
        """Return the flags of the control plane's scheduler, and where they were found."""
        kubeadm = self._kubeadm_flags()
        if self.control_plane:
            sets = Counter(_deciding(one.flags) for one in self.control_plane)
            usual = max(sets, key=lambda flags: sets[flags])
            one = next(one for one in self.control_plane if _deciding(one.flags) == usual)
            if len(sets) > 1:
                self._note(f"The pods of kube-scheduler have different flags; those of pod {one.key} are used.")
            if kubeadm and _deciding(kubeadm) != usual:
                self._note(f"ConfigMap {KUBEADM} has other flags than pod {one.key}; those of the pod are used.")
            self.control_plane.insert(0, self.control_plane.pop(self.control_plane.index(one)))
            return one.flags, f"pod {one.key}"
        if kubeadm:
            return kubeadm, f"ConfigMap {KUBEADM}"
        return self._node_flags()

    def _kubeadm_flags(self) -> Flags:
        """Return `scheduler.extraArgs`: a map in v1beta3 and older, a list of names and values since v1beta4."""
        given = mapping(self.kubeadm.get("scheduler")).get("extraArgs")
        if isinstance(given, list):
            pairs = [(text(item.get("name")), item.get("value", "")) for item in mappings(given)]
        else:
            pairs = [(name, value) for name, value in mapping(given).items() if isinstance(name, str)]
        return flags_in([f"--{name}={value}" for name, value in pairs if isinstance(value, str | bool | int)])

    def _node_flags(self) -> tuple[Flags, str]:
        """Return the flags that k3s and RKE2 write into annotations of their server nodes."""
        found: list[tuple[Flags, str]] = []
        for node in _nodes(self.store):
            for name in _NODE_ARGUMENTS:
                words = _node_words(node.metadata.annotations.get(name, ""))
                if words[:1] == ["server"]:
                    flags = flags_in([f"--{one.lstrip('-')}" for one in _scheduler_arguments(words)])
                    found.append((flags, f"annotation {name} of node {node.metadata.name}"))
        if len({_deciding(flags) for flags, _ in found}) > 1:
            self._note(f"Server nodes start kube-scheduler with different flags; those of the {found[0][1]} are used.")
        return found[0] if found else ({}, "")

    # --- the configuration ---

    def _configuration(self, release: Release, flags: Flags, source: str) -> tuple[dict[str, Any] | None, str]:
        if self.platform == "OpenShift":
            return self._openshift(release)
        if self.platform == "AKS":
            return self._aks(release)
        if self.control_plane:
            one = self.control_plane[0]
            if not (place := _file_of(one)):
                if provider := flags.get("algorithm-provider"):
                    self._note(f"Pod {one.key} has --algorithm-provider={shown(provider)}, which is left out.")
                return None, f"pod {one.key} has no --config"
            if isinstance(place, str):
                self._unreadable(flags.get("config") or flags.get("policy-config-file", ""), source, place)
            elif config := self._in_config_map(place, release):
                return config, f"ConfigMap {place.config_map}, key {place.key}, of pod {one.key}"
            return None, "that of the cluster cannot be read"
        if path := flags.get("config"):
            self._unreadable(path, source, "it is a file of the control plane")
            return None, "that of the cluster cannot be read"
        if self.platform == "GKE":
            return self._gke(release)
        if self.platform == "EKS":
            self._note(
                "Amazon EKS does not show the configuration of its scheduler in the cluster. If kubeSchedulerConfig of "
                "the cluster names the strategy MostAllocated, choose it."
            )
        elif source:
            return None, f"{source} has no config"
        else:
            self._note("No pod of kube-scheduler is visible, so its configuration is unknown.")
        return None, "the cluster shows none"

    def _unreadable(self, path: str, source: str, why: str) -> None:
        self._note(
            f"The {source} names the configuration {shown(path)}, which cannot be read: {why}. Choose the "
            f"configuration or enter its text."
        )

    def _openshift(self, release: Release) -> tuple[dict[str, Any] | None, str]:
        place = ConfigMapKey(OPENSHIFT, "config.yaml")
        if OPENSHIFT in self.config_maps and (config := self._in_config_map(place, release)):
            return config, f"ConfigMap {OPENSHIFT}, key config.yaml"
        scheduler = self.custom.get("Scheduler")
        if scheduler is None:
            why = self.failures.get(OPENSHIFT_SCHEDULER) or "there is none"
            self._note(f"The profile of OpenShift's scheduler in {OPENSHIFT_SCHEDULER} cannot be read: {why}.")
            return None, "that of the cluster cannot be read"
        profile = text(mapping(scheduler.get("spec")).get("profile"))
        name = _OPENSHIFT_PROFILES.get(profile)
        if name is None:
            self._note(f"The profile {shown(profile)} of OpenShift is not known.")
            return None, "the profile of the cluster is not known"
        source = f"the profile {profile or 'LowNodeUtilization'} of OpenShift"
        return (published(name, release) if name else None), source

    def _aks(self, release: Release) -> tuple[dict[str, Any] | None, str]:
        given = self.custom.get("SchedulerConfiguration")
        if given is None:
            if why := self.failures.get(AKS_CONFIGURATION):
                self._note(f"The SchedulerConfiguration upstream of AKS cannot be read: {why}.")
                return None, "that of the cluster cannot be read"
            return None, "the cluster has no SchedulerConfiguration upstream"
        place = "SchedulerConfiguration upstream"
        spec = mapping(given.get("spec"))
        state = next((word for word in _words(given.get("status")) if word.lower() in ("failed", "pending")), "")
        if state:
            self._note(f"AKS reports {state} for the {place}, so the scheduler may run an earlier one.")
        raw = spec.get("rawConfig")
        if not isinstance(raw, str):  # the first preview had the profiles themselves
            raw = json.dumps({"apiVersion": f"{GROUP}/{release.api_versions[0]}", "kind": KIND, **spec})
        if (config := self._read(raw, place, release)) is None:
            return None, "that of the cluster cannot be read"
        profiles = mappings(config.get("profiles"))
        if all(profile.get("schedulerName", "") not in ("", DEFAULT_SCHEDULER) for profile in profiles):
            config["profiles"] = [{"schedulerName": DEFAULT_SCHEDULER}, *profiles]
            self._note(f"The {place} has no profile {DEFAULT_SCHEDULER}; its default plugins are used.")
        return config, place

    def _gke(self, release: Release) -> tuple[dict[str, Any] | None, str]:
        if any(pod.spec.scheduler_name == GKE_PACKING for pod in _pods(self.store)):
            self._note(
                "GKE does not show the configuration of its scheduler. Pods name that of the autoscaling profile "
                "optimize-utilization, which prefers nodes with high allocation; its weights are assumed."
            )
            if "gke-optimize-utilization" in choices("GKE", release):
                return published("gke-optimize-utilization", release), "the description of GKE's optimize-utilization"
        else:
            self._note("GKE does not show the configuration of its scheduler in the cluster.")
        return None, "the cluster shows none"

    def _with_further(
        self, config: dict[str, Any] | None, source: str, release: Release
    ) -> tuple[dict[str, Any] | None, str]:
        """Add the profiles of further schedulers, each a process of its own with a configuration of its own."""
        places: dict[ConfigMapKey, SchedulerPod] = {}
        for one in self.further:
            place = _file_of(one)
            if isinstance(place, ConfigMapKey):
                places.setdefault(place, one)
            elif place:
                self._note(f"The configuration of the scheduler in pod {one.key} cannot be read: {place}.")
        for place, one in places.items():
            if (raw := self._in_config_map(place, release)) is None or raw.get("kind") != KIND:
                continue
            where = f"ConfigMap {place.config_map}, key {place.key}, of pod {one.key}"
            names = _profile_names(raw)
            if config is None and not self.control_plane and DEFAULT_SCHEDULER in names:
                config, source = raw, where
                continue
            added = self._with_profiles(config, raw, release)
            if isinstance(added, str):
                self._note(f"The profiles {_few(names)} of pod {one.key} are left out: {added}.")
            else:
                config, source = added, f"{source}; {_few(names)}: {where}"
        return config, source

    @staticmethod
    def _with_profiles(
        config: dict[str, Any] | None, other: Mapping[str, Any], release: Release
    ) -> dict[str, Any] | str:
        """Return the configuration with the profiles of another one, or why they cannot be added."""
        base = config or {
            "apiVersion": other["apiVersion"],
            "kind": KIND,
            "profiles": [{"schedulerName": DEFAULT_SCHEDULER}],
        }
        if base.get("kind") != KIND or base.get("apiVersion") != other.get("apiVersion"):
            return "the configurations have different versions"
        has_share = text(base.get("apiVersion")).endswith("/v1")  # whether a profile has a share of its own
        profiles = [*(mappings(base.get("profiles")) or [{"schedulerName": DEFAULT_SCHEDULER}])]
        if both := set(_profile_names(base)) & set(_profile_names(other)):
            return f"another scheduler has the profile {shown(min(both))}"
        given = {name: other[name] for name in ("percentageOfNodesToScore",) if name in other and has_share}
        profiles += [{**given, **profile} for profile in mappings(other.get("profiles"))]
        merged = {**base, "profiles": profiles}
        try:
            load(merged, release, unknown="leave_out")
        except InputError as error:
            return str(error)
        return merged

    def _in_config_map(self, place: ConfigMapKey, release: Release) -> dict[str, Any] | None:
        config_map = self.config_maps.get(place.config_map)
        if config_map is None:
            why = self.failures.get(_config_map_path(place.config_map)) or "it does not exist"
            self._note(f"ConfigMap {place.config_map} with the configuration cannot be read: {why}.")
            return None
        given = mapping(config_map.get("data")).get(place.key)
        if not isinstance(given, str):
            self._note(f"ConfigMap {place.config_map} has no key {shown(place.key)}.")
            return None
        return self._read(given, f"ConfigMap {place.config_map} key {shown(place.key)}", release)

    def _read(self, given: str, place: str, release: Release) -> dict[str, Any] | None:
        """Return the configuration in a text, without credentials; None with a note if it is not valid."""
        try:
            found = [one for document in read_documents(given, place) for one in configurations_in(document)]
            if not found:
                raise InputError(place, "", f"has no {KIND} and no {POLICY}")
            config = without_credentials(chosen(found).raw)
            warnings = load(config, release, unknown="leave_out").warnings
        except InputError as error:
            with_place = str(error) if place in str(error) else f"{place}: {error}"
            self._note(f"{with_place}.")
            return None
        for warning in warnings:
            self._note(f"{place}: {warning}.")
        return config


def without_credentials(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without the keys, certificates and passwords that extenders can have, and without the
    sections that say how the scheduler reaches the API server."""
    kept = {name: value for name, value in config.items() if name not in _IGNORED_SECTIONS}
    if isinstance(extenders := config.get("extenders"), list):
        kept["extenders"] = [_anonymous(one) if isinstance(one, Mapping) else one for one in extenders]
    return kept


def _anonymous(extender: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in extender.items() if name.lower() != "tlsconfig"}
    for name, value in kept.items():
        if name.lower() == "urlprefix" and isinstance(value, str) and "@" in value:
            scheme, slashes, rest = value.partition("//")
            kept[name] = f"{scheme}{slashes}{rest.rpartition('@')[2]}"
    return kept


def _storable(sentence: str) -> str:
    """Return a sentence on one line, at most MAX_NOTE characters, with only characters that a database stores."""
    line = " ".join(sentence.replace("\0", " ").split()).encode("utf-8", "replace").decode()
    return line if len(line) <= MAX_NOTE else f"{line[: MAX_NOTE - 3]}..."


def _profile_names(config: Mapping[str, Any]) -> list[str]:
    names = [text(profile.get("schedulerName")) or DEFAULT_SCHEDULER for profile in mappings(config.get("profiles"))]
    return names or [DEFAULT_SCHEDULER]


def _deciding(flags: Flags) -> tuple[tuple[str, str], ...]:
    """Return the flags that change decisions, comparable."""
    names = ("config", "feature-gates", "policy-config-file", "policy-configmap", "algorithm-provider")
    return tuple((name, flags[name]) for name in names if name in flags)


def _node_words(given: str) -> list[str]:
    """Return the command line of k3s or RKE2 from the annotation of a node, a JSON list of words."""
    with suppress(ValueError, RecursionError):
        return texts(json.loads(given)) if len(given) <= MAX_BYTES else []
    return []


def _scheduler_arguments(words: list[str]) -> list[str]:
    """Return the values of --kube-scheduler-arg."""
    split = [after for word, after in pairwise(words) if word == "--kube-scheduler-arg"]
    return split + [word.partition("=")[2] for word in words if word.startswith("--kube-scheduler-arg=")]


def _tag(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _number(version: str) -> str:
    """Return the release of a version: `1.34.2` of `v1.34.2-eks-1`, `1.30` of `1.30+`; "" if it is none."""
    match = _VERSION.match(version)
    return match[1] if match else ""


def _words(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the words of all texts in a JSON value, at most eight levels deep."""
    if isinstance(value, str):
        yield from value[:MAX_NOTE].split()
    elif isinstance(value, Mapping | list) and depth < 8:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _words(item, depth + 1)


def _few(names: Iterable[str]) -> str:
    listed = [name[:63] for name in names]
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
