"""The transports of a live cluster: from a pod of the cluster, or through a context of a kubeconfig."""

import shutil
from dataclasses import replace
from pathlib import Path

from scheduler_core.errors import InputError
from scheduler_core.live import in_cluster
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint
from scheduler_core.live.kubeconfig import default_files, files_of_context, read_kubeconfig
from scheduler_core.live.kubectl_proxy import KubectlProxy
from scheduler_core.live.transport import TransportError


class KubeconfigConnection:
    """Connects to the API server of a context without kubectl.

    `kubeconfig`: path of a file, or None for the files that kubectl reads.
    """

    def __init__(self, context: str, kubeconfig: str | None = None) -> None:
        self.context = context
        self._kubeconfig = kubeconfig

    async def connect(self) -> Endpoint:
        """Return the endpoint. Runs the user's credential plugin if it has one. Raises TransportError."""
        # kubernetes_asyncio takes 0.5 s and 71 MiB to import.
        from scheduler_core.live.kubeconfig_credentials import authenticate

        changed = files_of_context(self._kubeconfig, self.context)
        files = [Path(self._kubeconfig)] if self._kubeconfig else default_files()
        try:
            cluster, user = read_kubeconfig(files).resolve(self.context)
        except InputError as error:
            raise TransportError(f"{error}.") from None
        return replace(await authenticate(self.context, cluster, user), changed=changed)


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
