"""The clusters that the operator named, and how each is reached.

Only settings name a cluster: KUBESCHED_CLUSTERS, a file, or the cluster in which the server runs. With
KUBESCHED_CONTEXTS the contexts of the server's own kubeconfig are offered as well, to users of this machine or to
administrators, who choose one of the listed names. So no user makes the server read a file, run a program or open an
address.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from kubesched_ui.clusters.models import Cluster
from kubesched_ui.models import MAX_NAME, current_viewer
from kubesched_ui.runtime import env
from scheduler_core.errors import InputError
from scheduler_core.live.kinds import KINDS, WatchedKind, in_namespace

if TYPE_CHECKING:
    from scheduler_core.live.transport import Transport

logger = logging.getLogger(__name__)

IN_CLUSTER = "in-cluster"
SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
FIELDS = {"name", "context", "kubeconfig", "inCluster", "follow", "everyone", "release", "config", "namespace"}
NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Connection(NamedTuple):
    """A cluster that the operator named. `context`: of the kubeconfig, IN_CLUSTER for the service account.
    `kubeconfig`: path of the file; empty for kubectl's default. `always`: follow it even without an open page.
    `everyone`: whether all users may see it; None if administrators choose that. `release`, `config`: replace what is
    found in the cluster. `namespace`: the only one whose objects are read; "" for all."""

    name: str
    context: str
    kubeconfig: str = ""
    always: bool = False
    everyone: bool | None = None
    release: str = ""
    config: str = ""
    namespace: str = ""

    @property
    def kinds(self) -> Mapping[str, WatchedKind]:
        """The kinds to list and watch."""
        return in_namespace(self.namespace) if self.namespace else KINDS

    @property
    def text(self) -> str:
        """How it is reached, for people."""
        way = "in the cluster" if self.context == IN_CLUSTER else f"context {self.context}"
        return f"{way}, namespace {self.namespace}" if self.namespace else way


class CannotConnect(Exception):
    """There is no way to a cluster; the message is a sentence."""


def configured() -> dict[str, Connection]:
    """Return the clusters of the settings by name. Raises InvalidEnvironment with the name of the variable, or
    InputError with the file and the field."""
    found = {one.name: one for one in [*_of_file(settings.CLUSTERS_FILE), *_of_variable()]}
    if not found and not settings.CLUSTERS_FILE and is_in_cluster():
        found[IN_CLUSTER] = Connection(IN_CLUSTER, IN_CLUSTER)
    if unknown := sorted(set(settings.CLUSTERS_ALWAYS) - set(found)):
        raise env.InvalidEnvironment(f"{env.PREFIX}CLUSTERS_ALWAYS names {unknown[0]!r}, which is not a cluster")
    return {name: one._replace(always=one.always or name in settings.CLUSTERS_ALWAYS) for name, one in found.items()}


def is_in_cluster() -> bool:
    """Return whether this process runs in a pod with a service account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and SERVICE_ACCOUNT_TOKEN.exists()


def _of_variable() -> Iterator[Connection]:
    for part in settings.CLUSTERS:
        name, _, context = (word.strip() for word in part.partition("="))
        if not name or len(name) > MAX_NAME:
            raise env.InvalidEnvironment(f"{env.PREFIX}CLUSTERS must be NAME or NAME=CONTEXT, not {part!r}")
        yield Connection(name, context or name)


def _of_file(file: str) -> Iterator[Connection]:
    if not file:
        return
    try:
        value = yaml.safe_load(Path(file).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file, "", f"cannot be read: {getattr(error, 'strerror', '') or error}") from None
    except yaml.YAMLError as error:
        raise InputError(file, "", f"is not YAML: {str(error)[:300]}") from None
    clusters = value.get("clusters") if isinstance(value, dict) else None
    if not isinstance(clusters, list):
        raise InputError(file, "clusters", "must be a list")
    for number, one in enumerate(clusters):
        yield _of_entry(file, f"clusters[{number}]", one)


def _of_entry(file: str, path: str, entry: Any) -> Connection:
    if not isinstance(entry, Mapping):
        raise InputError(file, path, "must be a mapping")
    if unknown := sorted(str(key) for key in entry if key not in FIELDS):
        raise InputError(file, f"{path}.{unknown[0]}", f"is not one of {', '.join(sorted(FIELDS))}")

    def text(field: str, default: str = "") -> str:
        found = entry.get(field, default)
        if not isinstance(found, str):
            raise InputError(file, f"{path}.{field}", "must be a text")
        return found

    def flag(field: str) -> bool:
        found = entry.get(field, False)
        if not isinstance(found, bool):
            raise InputError(file, f"{path}.{field}", "must be true or false")
        return found

    name = text("name")
    if not name or len(name) > MAX_NAME:
        raise InputError(file, f"{path}.name", f"must have 1 to {MAX_NAME} characters")
    follow = text("follow", "when-viewed")
    if follow not in ("always", "when-viewed"):
        raise InputError(file, f"{path}.follow", f"must be always or when-viewed, not {follow[:50]!r}")
    context = IN_CLUSTER if flag("inCluster") else text("context", name)
    if (namespace := text("namespace")) and not NAMESPACE.fullmatch(namespace):
        raise InputError(file, f"{path}.namespace", f"must be the name of a namespace, not {namespace[:63]!r}")
    return Connection(
        name,
        context,
        kubeconfig=text("kubeconfig"),
        always=follow == "always",
        everyone=flag("everyone"),
        release=text("release"),
        config=text("config"),
        namespace=namespace,
    )


def store_configured() -> None:
    """Bring the rows of clusters to the settings. Rows of clusters that are no longer named stay, with their history,
    but are neither listed nor followed, and only administrators see them."""
    found = configured()
    with transaction.atomic():
        for name, one in found.items():
            columns: dict[str, Any] = {"connection": one.text[:MAX_NAME], "configured": True, "always": one.always}
            columns["from_context"] = False
            if one.everyone is not None:
                columns["everyone"] = one.everyone
            if one.release:
                columns["chosen_release"] = one.release
            if one.config:
                columns["chosen_config"] = one.config
            Cluster.everything.update_or_create(name=name, defaults=columns)
        kept = Q(name__in=found)
        if settings.CONTEXTS:
            kept |= Q(from_context=True)
        Cluster.everything.exclude(kept).update(configured=False, always=False, everyone=False)
        Cluster.everything.filter(kept).update(configured=True)


def connection_of(cluster: Cluster) -> Connection:
    """Return how a cluster is reached now. Raises CannotConnect."""
    if found := configured().get(cluster.name):
        return found
    if settings.CONTEXTS and cluster.from_context and cluster.name in context_names():
        return Connection(cluster.name, cluster.name)
    raise CannotConnect(f"The settings of the server do not name {cluster.name} any more.")


@asynccontextmanager
async def open_transport(one: Connection) -> AsyncIterator[Transport]:
    """Open the transport to a cluster for the block."""
    # The web process, which imports this module, needs no HTTP client.
    from scheduler_core.live.connections import context_transport, in_cluster_transport

    agent = f"kubesched/{settings.VERSION}"
    in_cluster = one.context == IN_CLUSTER
    transport = (
        in_cluster_transport(agent)
        if in_cluster
        else context_transport(one.context, agent, one.kubeconfig or None, one.namespace)
    )
    try:
        yield transport
    finally:
        await transport.close()


# ---- contexts of the kubeconfig


def may_offer() -> bool:
    """Return whether contexts of the kubeconfig are offered to the viewer: without accounts to everyone who reaches
    this machine, otherwise to administrators."""
    if not settings.CONTEXTS:
        return False
    return not settings.ACCOUNTS or bool(getattr(current_viewer.viewer(), "admin", False))


def offered() -> list[str]:
    """Return the contexts that the viewer may choose and that are no clusters yet."""
    if not may_offer():
        return []
    known = set(Cluster.everything.filter(configured=True).values_list("name", flat=True))
    return [name for name in context_names() if name not in known]


def choose(context: str) -> Cluster:
    """Make a context of the kubeconfig a cluster. Raises InputError if it is not offered to the viewer."""
    if not may_offer() or context not in context_names():
        raise InputError("Context", "", f"{context[:MAX_NAME]!r} is not offered by this server")
    one = Connection(context, context)
    defaults = {"connection": one.text[:MAX_NAME], "configured": True, "from_context": True}
    found: Cluster = Cluster.everything.get_or_create(name=context, defaults=defaults)[0]
    if not found.configured:
        Cluster.everything.filter(pk=found.pk).update(**defaults)
        found.refresh_from_db()
    return found


def context_names() -> list[str]:
    """Return the names of the contexts of the server's kubeconfig, in their order; none if it cannot be read."""
    from scheduler_core.live.kubeconfig import default_files, read_kubeconfig

    try:
        contexts = read_kubeconfig(default_files()).list_contexts()
    except InputError as problem:
        logger.warning("No context is offered: %s", problem)
        return []
    return [one.name for one in contexts if 0 < len(one.name) <= MAX_NAME]
