"""supervisord for the programs of this project: `python -m kubesched_ui.runtime.supervisord_main -c FILE`.

It starts programs immediately (supervisord waits for a second), also listens on IPv6, and holds listening sockets until
it ends, so that connections wait while a process is replaced.
"""

from __future__ import annotations

import re
import socket
from typing import Any

from supervisor import supervisord
from supervisor.datatypes import InetStreamSocketConfig
from supervisor.options import ServerOptions


class Supervisor(supervisord.Supervisor):
    def runforever(self) -> None:
        groups = sorted(self.process_groups.values())
        sockets = [group.socket_manager.get_socket() for group in groups if hasattr(group, "socket_manager")]
        for index in range(len(sockets)):
            sockets[index].setblocking(False)
        for group in groups:
            group.transition()
        try:
            super().runforever()
        finally:
            sockets.clear()  # closes them while the log is still open


class Inet6StreamSocketConfig(InetStreamSocketConfig):
    def create_and_bind(self) -> socket.socket:
        found = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(self.addr())
        return found


class Options(ServerOptions):
    def parse_fcgi_socket(self, sock: str, *options: Any) -> Any:
        """Also accept `tcp://[ADDRESS]:PORT`."""
        if match := re.fullmatch(r"tcp://\[(.+)\]:(\d+)", sock):
            return Inet6StreamSocketConfig(match[1], int(match[2]), backlog=options[-1])
        return super().parse_fcgi_socket(sock, *options)


if __name__ == "__main__":
    supervisord.Supervisor, supervisord.ServerOptions = Supervisor, Options
    supervisord.main()
