"""Reaches the API server from a pod, with the token and the certificate authority of its service account.

Source: k8s.io/client-go/rest/config.go InClusterConfig, k8s.io/client-go/transport/token_source.go.
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from scheduler_core.live.aiohttp_transport import Endpoint, create_tls_context
from scheduler_core.live.redaction import redacted
from scheduler_core.live.transport import TransportError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NAME = "the API server of this cluster"
MAX_TOKEN = 64 * 1024


class TokenFile:
    """The bearer token of a file, read again whenever the file changes: kubelet rotates it before it expires."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._headers: dict[str, str] = {}

    def headers(self) -> Mapping[str, str]:
        """Return the Authorization header. A file that cannot be read leaves the last token in use.

        Raises TransportError if no token has been read.
        """
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
            if stamp != self._stamp:
                with self._path.open("rb") as file:
                    token = file.read(MAX_TOKEN).decode("ascii").strip()
                if token.isprintable() and token:
                    self._headers = {"Authorization": f"Bearer {token}"}
                    self._stamp = stamp
        except OSError as error:
            if not self._headers:
                raise TransportError(
                    f"The token file {redacted(str(self._path))} cannot be read: {reason(error)}."
                ) from None
        except UnicodeDecodeError:
            pass
        if not self._headers:
            raise TransportError(f"The token file {redacted(str(self._path))} has no token.")
        return self._headers


async def connect(environ: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT) -> Endpoint:
    """Return the endpoint of the cluster in which this process runs. Raises TransportError if it runs in none."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise TransportError(
            "This process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set."
        )
    token = TokenFile(folder / "token")
    token.headers()
    authority = folder / "ca.crt"
    try:
        tls = create_tls_context(str(authority))
    except ssl.SSLError:
        raise TransportError(f"The file {authority} has no certificate.") from None
    except OSError as error:
        raise TransportError(f"The file {authority} cannot be read: {reason(error)}.") from None
    address = f"[{host}]" if ":" in host else host
    return Endpoint(NAME, f"https://{address}:{port}", tls=tls, authorization=token.headers, reconnect=True)


def reason(error: OSError) -> str:
    """Return why a file cannot be read, in lower case."""
    return os.strerror(error.errno).lower() if error.errno else "unknown error"
