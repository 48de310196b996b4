"""The transports of a live cluster: from a pod of the cluster, or through a context of a kubeconfig."""

from __future__ import annotations

import shutil

from scheduler_core.live import in_cluster
from scheduler_core.live.kubeconfig import KubeconfigConnection
from scheduler_core.live.kubectl_proxy import KubectlProxy
from scheduler_core.live.transport import AiohttpTransport


def in_cluster_transport(user_agent: str) -> AiohttpTransport:
    """Return the transport to the cluster in which this process runs, as its service account."""
    return AiohttpTransport(in_cluster.connect, user_agent)


def context_transport(
    context: str, user_agent: str, kubeconfig: str | None = None, namespace: str = ""
) -> AiohttpTransport:
    """Return the transport to the cluster of a context: through kubectl if it is installed, else directly.

    `kubeconfig`: path of a file, or None for the files that kubectl reads. `namespace`: the only one that is read, or
    empty. Nothing is read or started before the first request; what is wrong with the context is a TransportError of
    that request.
    """
    if shutil.which("kubectl"):
        proxy = KubectlProxy(context, kubeconfig, namespace=namespace)
        return AiohttpTransport(proxy.connect, user_agent, proxy.close)
    return AiohttpTransport(KubeconfigConnection(context, kubeconfig).connect, user_agent)
