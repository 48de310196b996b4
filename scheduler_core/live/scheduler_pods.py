"""Pods that run a scheduler: their flags, and the ConfigMap behind the path of a flag.

Upstream: cmd/kube-scheduler/app/options (the flags). What a cluster sends is not trusted: every size is bounded.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scheduler_core.api.objects import Pod

MAX_PODS = 50
MAX_WORDS = 2000
MAX_WORD = 65_536  # characters
_MIRROR = "kubernetes.io/config.mirror"
_ENDED = ("Succeeded", "Failed")
_LABELS = (("component", "kube-scheduler"), ("k8s-app", "kube-scheduler"), ("app", "openshift-kube-scheduler"))
_OPENSHIFT_FILE = re.compile(r"/kube-scheduler-pod-[^/]+/configmaps/([^/]+)/([^/]+)")
_PROGRAM = re.compile(r"(?:[\w.]+-){0,8}scheduler(?:-(?:amd64|arm64))?")
_VARIABLE = re.compile(r"\$\(\w+\)")

Flags = Mapping[str, str]


class ConfigMapKey(NamedTuple):
    """A key of a ConfigMap. `config_map`: namespace/name."""

    config_map: str
    key: str


class SchedulerPod(NamedTuple):
    """A container that runs a scheduler, and its pod as the API server sends it (JSON)."""

    key: str
    image: str
    flags: Flags
    container: Mapping[str, Any]
    pod: Mapping[str, Any]

    @property
    def node(self) -> str:
        return text(mapping(self.pod.get("spec")).get("nodeName"))

    @property
    def in_control_plane(self) -> bool:
        """Whether this is the scheduler of the control plane, and not a further one."""
        metadata = mapping(self.pod.get("metadata"))
        labels = mapping(metadata.get("labels"))
        return _MIRROR in mapping(metadata.get("annotations")) or any(
            labels.get(key) == value for key, value in _LABELS
        )


def may_run_scheduler(pod: Pod) -> bool:
    """Whether a pod may run a scheduler, by its names, labels and images. Its command is in the JSON alone."""
    names = [pod.metadata.name, *pod.metadata.labels.values()]
    names += [name for one in pod.spec.containers for name in (one.name, one.image)]
    return pod.status.phase not in _ENDED and any("sched" in name for name in names)


def scheduler_pods(pods: Iterable[Mapping[str, Any]]) -> list[SchedulerPod]:
    """Return the containers that run a scheduler, sorted by pod, at most MAX_PODS. `pods`: JSON of the API server."""
    found = [one for pod in pods for one in _containers_of(pod)]
    return sorted(found, key=lambda one: (not one.in_control_plane, one.key))[:MAX_PODS]


def _containers_of(pod: Mapping[str, Any]) -> Iterator[SchedulerPod]:
    metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
    if mapping(pod.get("status")).get("phase") in _ENDED or metadata.get("deletionTimestamp"):
        return
    for container in mappings(spec.get("containers")):
        image = text(container.get("image"))
        words = [word for name in ("command", "args") for word in texts(container.get(name))]
        if (flags := scheduler_flags(words, image)) is not None:
            key = f"{text(metadata.get('namespace'))}/{text(metadata.get('name'))}"
            yield SchedulerPod(key, image, flags, container, pod)


def scheduler_flags(words: Sequence[str], image: str = "") -> dict[str, str] | None:
    """Return the flags of the scheduler that a command line starts; None if it starts none.

    The command can be a shell's. `--feature-gates` may occur several times; otherwise the last flag counts.
    """
    words = list(_unquoted(words))
    at = next((place for place, word in enumerate(words) if _is_scheduler(word)), -1)
    if at < 0 and not _is_scheduler(image.partition("@")[0].rpartition("/")[2].partition(":")[0]):
        return None
    return flags_in(words[at + 1 :])


def flags_in(words: Sequence[str]) -> dict[str, str]:
    """Return the flags among words, by name with dashes; a flag without a value is `true`."""
    found: dict[str, str] = {}
    for place, word in enumerate(words[:MAX_WORDS]):
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        following = words[place + 1] if place + 1 < len(words) else ""
        if not equals:
            value = following if following and not following.startswith("-") else "true"
        name = name.replace("_", "-")
        if name == "feature-gates" and name in found:
            value = f"{found[name]},{value}"
        found[name] = value
    return found


def _unquoted(words: Sequence[str]) -> Iterator[str]:
    """Yield words, and the words of those that are a shell's script."""
    for word in words[:MAX_WORDS]:
        script = word[:MAX_WORD]
        if not script.startswith("-") and len(script.split(None, 1)) > 1:
            try:
                yield from shlex.split(script, comments=True)
            except ValueError:
                yield from script.split()
        else:
            yield script


def _is_scheduler(word: str) -> bool:
    return _PROGRAM.fullmatch(word.rpartition("/")[2]) is not None and not word.startswith("-")


def locate(one: SchedulerPod, path: str) -> ConfigMapKey | str:
    """Return the key of a ConfigMap that a container sees at a path, or why the file is not in a ConfigMap."""
    if not path or _VARIABLE.search(path):
        return "its path depends on a variable of the environment"
    path = posixpath.normpath(posixpath.join(text(one.container.get("workingDir")) or "/", path))
    mounts = [
        (posixpath.normpath(text(mount.get("mountPath"))), mount)
        for mount in mappings(one.container.get("volumeMounts"))
    ]
    inside = [(at, mount) for at, mount in mounts if at == path or path.startswith(at.rstrip("/") + "/")]
    if not inside:
        return "it is part of the image"
    at, mount = max(inside, key=lambda entry: len(entry[0]))
    below = posixpath.normpath(posixpath.join(text(mount.get("subPath")), posixpath.relpath(path, at))).lstrip("/")
    volumes = mappings(mapping(one.pod.get("spec")).get("volumes"))
    volume = next((volume for volume in volumes if volume.get("name") == mount.get("name")), {})
    namespace = one.key.partition("/")[0]
    sources = [source for source in mappings(mapping(volume.get("projected")).get("sources")) if "configMap" in source]
    for source in (volume, *sources):
        if isinstance(reference := source.get("configMap"), Mapping):
            items = mappings(reference.get("items"))
            key = next((text(item.get("key")) for item in items if item.get("path") == below), "" if items else below)
            if key:
                return ConfigMapKey(f"{namespace}/{text(reference.get('name'))}", key)
    if isinstance(host := volume.get("hostPath"), Mapping):
        file = posixpath.join(text(host.get("path")), below)
        if match := _OPENSHIFT_FILE.search(file):
            return ConfigMapKey(f"{namespace}/{match[1]}", match[2])
        return f"it is a file of node {one.node}" if one.node else "it is a file of the node"
    kind = next((kind for kind in volume if kind != "name"), "")
    return f"its volume is of type {kind[:40]}" if kind else "its volume is not known"


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a list."""
    return [item for item in value[:MAX_WORDS] if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [item for item in value[:MAX_WORDS] if isinstance(item, str)] if isinstance(value, list) else []
