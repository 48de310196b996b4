"""Reads kubeconfig files: which contexts they have, and what one of them says.

Reading contacts no server, runs no program and reads no other file.
Source: k8s.io/client-go/tools/clientcmd/loader.go, validation.go.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from scheduler_core.errors import InputError

MAX_BYTES = 8 * 1024 * 1024
_Raw = dict[str, Any]
_LISTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_TEXTS = {
    "cluster": ("server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url"),
    "user": (
        *("token", "tokenFile", "username", "password"),
        *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
    ),
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class KubeContext(NamedTuple):
    """A context of a kubeconfig. `current`: whether kubectl uses it without --context."""

    name: str
    cluster: str
    user: str
    namespace: str
    current: bool


class Kubeconfig(NamedTuple):
    """The merged content of kubeconfig files: name -> fields. Paths of other files are absolute."""

    files: tuple[Path, ...]
    clusters: dict[str, _Raw]
    contexts: dict[str, _Raw]
    users: dict[str, _Raw]
    current_context: str

    def __repr__(self) -> str:
        """Return the names of the contexts: the fields have credentials."""
        return f"Kubeconfig({', '.join(self.contexts)})"

    def list_contexts(self) -> list[KubeContext]:
        """Return the contexts in the order of the files."""
        return [
            KubeContext(
                name,
                _text(context, "cluster"),
                _text(context, "user"),
                _text(context, "namespace"),
                name == self.current_context,
            )
            for name, context in self.contexts.items()
        ]

    def resolve(self, context: str) -> tuple[_Raw, _Raw]:
        """Return the cluster and the user of a context. Raises InputError if one is missing or has wrong fields."""
        where = " ".join(str(file) for file in self.files) or "kubeconfig"
        if context not in self.contexts:
            names = ", ".join(list(self.contexts)[:10]) or "none"
            raise InputError(where, "contexts", f"there is no context {context!r}; contexts are: {names}")
        fields = self.contexts[context]
        cluster, user = _text(fields, "cluster"), _text(fields, "user")
        if cluster not in self.clusters:
            raise InputError(where, "clusters", f"context {context!r} names cluster {cluster!r}, which does not exist")
        if user and user not in self.users:
            raise InputError(where, "users", f"context {context!r} names user {user!r}, which does not exist")
        found = {"cluster": self.clusters[cluster], "user": self.users.get(user, {})}
        for kind, texts in _TEXTS.items():
            for name in texts:
                if not isinstance(found[kind].get(name) or "", str):
                    raise InputError(where, f"{kind} of context {context!r}: {name}", "must be a text")
        return found["cluster"], found["user"]


def default_files(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files that kubectl reads: those of KUBECONFIG, or ~/.kube/config."""
    named = environ.get("KUBECONFIG", "")
    if named:
        return [Path(name) for name in dict.fromkeys(named.split(os.pathsep)) if name]
    return [Path(environ.get("HOME") or Path.home()) / ".kube" / "config"]


def read_kubeconfig(files: list[Path]) -> Kubeconfig:
    """Read and merge kubeconfig files. The first file that has a name wins; files that do not exist are left out.

    Raises InputError that names the file and the field.
    """
    merged: dict[str, dict[str, _Raw]] = {kind: {} for kind in _LISTS}
    current, found = "", []
    for file in files:
        content = _read(file)
        if content is None:
            continue
        found.append(file)
        for kind, field in _LISTS.items():
            for name, fields in _entries(file, content, kind, field):
                merged[kind].setdefault(name, fields)
        current = current or _text(content, "current-context")
    return Kubeconfig(tuple(found), **merged, current_context=current)


def files_of_context(kubeconfig: str | None, context: str) -> Callable[[], bool]:
    """Return a function that tells whether files of a context have changed since this call: the kubeconfig files, and
    the certificates, keys and tokens that it names. `kubeconfig`: path of a file, or None for the usual ones."""

    def stamps() -> list[tuple[int, int, int] | None]:
        found: list[tuple[int, int, int] | None] = []
        for file in files:
            try:
                status = file.stat()
                found.append((status.st_mtime_ns, status.st_ino, status.st_size))
            except OSError:
                found.append(None)
        return found

    files = [Path(kubeconfig)] if kubeconfig else default_files()
    with suppress(InputError):
        cluster, user = read_kubeconfig(files).resolve(context)
        named = [fields.get(name) for fields, kind in ((cluster, "clusters"), (user, "users")) for name in _FILES[kind]]
        files += [Path(file) for file in named if isinstance(file, str) and file]
    before = stamps()
    return lambda: stamps() != before


def _read(file: Path) -> _Raw | None:
    try:
        if not file.is_file():  # a pipe would block
            if file.exists():
                raise InputError(str(file), "", "is not a file")
            return None
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(str(file), "", f"cannot be read: {os.strerror(error.errno or 0).lower()}") from None
    if len(data) > MAX_BYTES:
        raise InputError(str(file), "", f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        content = yaml.load(data, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        # The problem alone: the text of the error quotes the line, which may have a token.
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise InputError(str(file), f"line {line}", "is not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise InputError(str(file), "", "is not YAML") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(str(file), "", "is not a kubeconfig")
    return content


def _entries(file: Path, content: _Raw, kind: str, field: str) -> list[tuple[str, _Raw]]:
    entries = content.get(kind) or []
    if not isinstance(entries, list):
        raise InputError(str(file), kind, "must be a list")
    found = []
    for index, entry in enumerate(entries):
        where = f"{kind}[{index}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise InputError(str(file), f"{where}.name", "must be a text")
        fields = entry.get(field) or {}
        if not isinstance(fields, dict):
            raise InputError(str(file), f"{where}.{field}", "must be a mapping")
        found.append((entry["name"], _with_absolute_paths(file, kind, fields)))
    return found


def _with_absolute_paths(file: Path, kind: str, fields: _Raw) -> _Raw:
    fields = dict(fields)
    folder = file.absolute().parent
    for name in _FILES.get(kind, ()):
        if isinstance(fields.get(name), str) and fields[name]:
            fields[name] = str(folder / fields[name])
    plugin = fields.get("exec")
    if kind == "users" and isinstance(plugin, dict) and os.sep in str(plugin.get("command", "")):
        fields["exec"] = {**plugin, "command": str(folder / str(plugin["command"]))}
    return fields


def _text(fields: _Raw, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
