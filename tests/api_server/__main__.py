"""Run the test API server as a process.

    python -m tests.api_server --recording tests/recordings/live-a --speed 1
    python -m tests.api_server --nodes 5000 --pods 100000 --changes 1000

Prints its address, and listens until it ends. To look at it with KubeSched or kubectl:

    python -m tests.api_server --recording tests/recordings/live-a --speed 1 --kubeconfig /tmp/kubeconfig
    KUBECONFIG=/tmp/kubeconfig make run

 Objects are written as to a real API server (POST, PUT, PATCH, DELETE,
pods/NAME/binding); faults and settings under /test/ (ApiServer._control).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from functools import partial
from pathlib import Path

import yaml

from tests.api_server.certificates import Authority
from tests.api_server.large_cluster import LargeCluster
from tests.api_server.recordings import Recording
from tests.api_server.server import ApiServer
from tests.api_server.storage import Storage


async def serve(options: argparse.Namespace) -> None:
    """Serve until the process is ended."""
    tls = Authority(options.tls).server_context() if options.tls else None
    storage = Storage(0 if options.recording else 1000)
    writes = []
    version = options.git_version
    if options.recording:
        recording = Recording(options.recording)
        recording.load(storage)
        version = recording.version["gitVersion"]
        if options.speed:
            writes.append(recording.play(storage, options.speed))
    if options.nodes:
        cluster = LargeCluster(options.nodes, options.pods, options.pending)
        cluster.load(storage)
        if options.changes:
            writes.append(cluster.churn(storage, options.changes))
    server = ApiServer(storage, version, options.unix_socket, tls, options.port)
    if options.token:
        server.authorizations = {f"Bearer {options.token}"}
    if options.nodes:
        server.churn = partial(cluster.churn, storage)
    async with server:
        if options.kubeconfig:
            authority = {"certificate-authority": str(options.tls.absolute() / "test-ca.crt")} if options.tls else {}
            config = {
                "clusters": [{"name": "test", "cluster": {"server": server.url, **authority}}],
                "users": [{"name": "test", "user": {"token": options.token or "any"}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                "current-context": "test",
            }
            options.kubeconfig.write_text(yaml.safe_dump(config))
        print(server.url, flush=True)
        await asyncio.gather(*writes)
        await asyncio.Event().wait()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.api_server", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="TCP port of 127.0.0.1 (default: a free one)")
    parser.add_argument("--unix-socket", type=Path, help="listen on this socket instead")
    parser.add_argument("--tls", type=Path, metavar="FOLDER", help="serve HTTPS; test-ca.crt is written to this folder")
    parser.add_argument("--token", help="require this bearer token")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="write a kubeconfig with the context `test`")
    parser.add_argument("--git-version", default="v1.36.2")
    parser.add_argument("--recording", type=Path, metavar="FOLDER", help="serve a recorded folder")
    parser.add_argument("--speed", type=float, help="play the recorded changes, this many times as fast")
    parser.add_argument("--nodes", type=int, default=0, help="serve a generated cluster")
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--pending", type=int, default=50)
    parser.add_argument("--changes", type=float, default=0, help="changes of pods in a second")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
