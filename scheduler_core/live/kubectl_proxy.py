"""Reaches an API server through `kubectl proxy`, so that no credential enters this process.

kubectl authenticates as in the person's shell: exec plugins, OpenID Connect, certificates, proxies. It listens on a
socket in a private folder and rejects writes, secrets, exec, attach, port-forward, proxy and logs.
Source: k8s.io/kubectl/pkg/cmd/proxy, k8s.io/kubectl/pkg/proxy/proxy_server.go.
"""

import asyncio
import ctypes
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scheduler_core.live.aiohttp_transport import Endpoint
from scheduler_core.live.kubeconfig import files_of_context
from scheduler_core.live.private_folder import create_private_folder
from scheduler_core.live.redaction import redacted
from scheduler_core.live.transport import TransportError

REJECT_METHODS = "POST,PUT,PATCH,DELETE"
ACCEPT_PATHS = "^/(api|apis|version)($|/)"
REJECT_PATHS = r"/secrets($|/|\?),/exec,/attach,/portforward,/proxy,/log"
# The same subresources, for a namespace such as `logging`, all paths of which REJECT_PATHS matches.
REJECT_SUBRESOURCES = r"/secrets($|/|\?),/(exec|attach|portforward|proxy|log)($|/|\?)"
START_TIMEOUT = 15.0
STOP_TIMEOUT = 5.0
SETTINGS_PREFIX = "KUBESCHED_"
MAX_OUTPUT = 64 * 1024
MAX_SOCKET_PATH = 103  # bytes; sun_path has 108 on Linux, 104 on macOS
_PR_SET_PDEATHSIG = 1


class KubectlProxy:
    """A `kubectl proxy` for one context. `connect` starts it, and replaces a running one.

    A running kubectl never reads its kubeconfig again.

    `kubeconfig`: path of a file, or None for the files that kubectl itself reads. `kubectl`: path of the program.
    `namespace`: the only one that is read, or empty.
    """

    def __init__(
        self, context: str, kubeconfig: str | None = None, kubectl: str | None = None, namespace: str = ""
    ) -> None:
        self.context = context
        self._namespace = namespace
        self._kubeconfig = kubeconfig
        self._kubectl = kubectl
        self._process: asyncio.subprocess.Process | None = None
        self._output = b""
        self._reader: asyncio.Task[None] | None = None
        self._folder: Path | None = None

    async def connect(self) -> Endpoint:
        """Return the endpoint of a new proxy. Raises TransportError with kubectl's reason if it does not start."""
        changed = files_of_context(self._kubeconfig, self.context)
        await self.close()
        await self._start()
        return Endpoint(
            f"the API server of context {self.context}",
            "http://localhost",
            unix_socket=str(self._socket),
            reconnect=True,
            gateway="kubectl",
            changed=changed,
        )

    async def close(self) -> None:
        """Stop kubectl and remove its socket."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT)
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def command(self, kubectl: str, socket: Path) -> list[str]:
        """Return the command line. It has no credential: processes of other users can read it."""
        command = [kubectl, "--context", self.context]
        rejected = any(re.search(pattern, f"/{self._namespace}/") for pattern in REJECT_PATHS.split(","))
        if self._kubeconfig:
            command += ["--kubeconfig", self._kubeconfig]
        return [
            *command,
            "proxy",
            f"--unix-socket={socket}",
            f"--reject-methods={REJECT_METHODS}",
            f"--accept-paths={ACCEPT_PATHS}",
            f"--reject-paths={REJECT_SUBRESOURCES if rejected else REJECT_PATHS}",
        ]

    @property
    def _socket(self) -> Path:
        assert self._folder is not None
        return self._folder / "kubectl.sock"

    async def _start(self) -> None:
        kubectl = self._kubectl or shutil.which("kubectl")
        if kubectl is None:
            raise TransportError("kubectl is not installed on the server's machine.")
        self._output = b""
        try:
            self._folder = create_private_folder()
            if len(os.fsencode(self._socket)) > MAX_SOCKET_PATH:
                await self.close()
                raise TransportError("The path of the folder for temporary files is too long for a socket: set TMPDIR.")
            self._process = await asyncio.create_subprocess_exec(
                *self.command(kubectl, self._socket),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                # The settings of the server have passwords, which credential plugins need not know.
                env={name: value for name, value in os.environ.items() if not name.startswith(SETTINGS_PREFIX)},
                preexec_fn=_die_with_parent(),
            )
        except OSError as error:
            await self.close()
            raise TransportError(f"kubectl could not be started: {os.strerror(error.errno or 0).lower()}.") from None
        self._reader = asyncio.create_task(self._read(self._process))
        end = time.monotonic() + START_TIMEOUT
        while b"Starting to serve on" not in self._output:
            if self._process.returncode is not None or time.monotonic() > end:
                await self._fail()
            await asyncio.sleep(0.02)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        # A full pipe would block kubectl.
        assert process.stdout
        while part := await process.stdout.read(4096):
            self._output = (self._output + part)[-MAX_OUTPUT:]

    async def _fail(self) -> None:
        ended = self._process.returncode if self._process else None
        if self._reader and ended is not None:
            await self._reader
        output = self._output.decode(errors="replace")
        message = redacted(output).removeprefix("error: ").removeprefix("* ").rstrip(".")
        if "Please enter Username" in output:
            message = "the user of the context has no credentials"
        await self.close()
        if ended is None:
            raise TransportError(f"kubectl proxy for context {self.context} did not start in {START_TIMEOUT:g} s.")
        raise TransportError(
            f"kubectl proxy for context {self.context} ended with status {ended}: {message or 'no message'}."
        )


def _die_with_parent() -> Callable[[], None] | None:
    """Return what the child runs before kubectl, so that it ends even if this process is killed. Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before prctl
            os._exit(1)

    return prepare
