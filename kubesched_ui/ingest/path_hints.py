"""Hints from names of files and folders: whether to read a file, and the kind of its objects."""

import re
from pathlib import PurePosixPath

from kubesched_ui.ingest.kinds import named
from scheduler_core.etcd.bbolt import is_database

PACKED = (".gz", ".bz2", ".xz", ".zst")
ARCHIVES = (*PACKED, ".tgz", ".tbz2", ".txz", ".zip", ".tar", ".7z", ".rar")
TEXTS = (".json", ".yaml", ".yml", ".kyaml", ".jsonl", ".ndjson")
MAYBE = ("", ".txt", ".out", ".dump", ".db")  # only if the content starts like an object or a database of etcd
LOGS = (".log", ".txt", ".out", ".csv", ".html", ".prom", ".pcap", ".xml")
SPAM = ("__MACOSX", ".DS_Store", "._")

_OBJECT = re.compile(
    rb"\s*(?:---\s+)?(?:\{\s*\"?(?:kind|apiVersion|metadata|items|Items)\"?\s*:|(?:kind|apiVersion): ?\w)"
)
# core_v1_nodes, metrics.k8s.io_v1beta1_nodes: file names of resources in sonobuoy archives.
_GVR = re.compile(r"(?P<group>[a-z0-9.-]+)_(?P<version>v\d+[a-z0-9]*)_(?P<resource>[a-z]+)")
_SCOPES = ("namespaces", "ns")


def with_slashes(name: str) -> str:
    """Return a path with `/` as separator, also for paths from Windows."""
    return name.replace("\\", "/")


def is_readable_name(name: str) -> bool:
    """Return whether the name of a member suggests readable content."""
    path = PurePosixPath(with_slashes(name))
    suffix = path.suffix.lower()
    if any(part.startswith(SPAM) for part in path.parts):
        return False
    if suffix in PACKED:
        return PurePosixPath(path.stem).suffix.lower() not in LOGS
    return suffix in TEXTS or suffix in ARCHIVES or suffix in MAYBE


def is_readable(name: str, head: bytes) -> bool:
    """Return whether a member is read. `head`: its first bytes, which decide if the name is not conclusive."""
    return PurePosixPath(name).suffix.lower() not in MAYBE or _OBJECT.match(head) is not None or is_database(head)


def kind_of(path: str) -> tuple[str, str]:
    """Return the kind and apiVersion that a path suggests for objects without them; each may be "".

    The name of the file takes precedence (`kube-system/pods.json`, `core_v1_nodes.json`), then its folders from the
    innermost (`config/node/n1.json`, `resources/pods/namespaces/shop/p.json`). Also works for keys (`/api/v1/nodes`).
    """
    parts = [part for part in PurePosixPath(with_slashes(path)).parts if part not in ("/", ".")]
    if not parts:
        return "", ""
    stem = parts[-1].partition(".json")[0].partition(".y")[0] if "_" in parts[-1] else parts[-1].partition(".")[0]
    if gvr := _GVR.fullmatch(stem.lower()):
        kind, group = named(gvr["resource"]), gvr["group"]
        version = gvr["version"] if group == "core" else f"{group}/{gvr['version']}"
        return (kind, version) if kind else ("", "")
    if kind := named(stem):
        return kind, ""
    folders = [(folder, named(folder)) for folder in reversed(parts[:-1])]
    telling = [kind for folder, kind in folders if kind and folder.lower() not in _SCOPES]
    if telling:
        return telling[0], ""
    near = folders[0][0].lower() if folders else ""
    if near == "cluster" and len(folders) > 1:  # velero: resources/namespaces/cluster/shop.json
        near = folders[1][0].lower()
    return ("Namespace", "") if near in _SCOPES else ("", "")
