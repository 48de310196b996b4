"""supervisord for the programs of this project: `python -m kubesched_ui.runtime.supervisord_main -c FILE`.

It starts programs immediately (supervisord waits for a second), also listens on IPv6, and holds listening sockets until
it is stopped. So connections wait while a process is replaced, and are refused while the last one drains. It replaces a
web process that does not answer (web_watchdog.py).
"""

import contextlib
import re
import socket
import time
from typing import Any

from supervisor import events, supervisord
from supervisor.datatypes import InetStreamSocketConfig
from supervisor.options import ServerOptions
from supervisor.states import SupervisorStates

from kubesched_ui.runtime.web_watchdog import WebWatchdog

STOP_ACCEPTING_S = 0.1  # time for a process that received its signal to stop accepting


class Supervisor(supervisord.Supervisor):
    watchdogs: list[WebWatchdog] = []

    def runforever(self) -> None:
        groups = sorted(self.process_groups.values())
        serving = [group for group in groups if hasattr(group, "socket_manager")]
        sockets = [group.socket_manager.get_socket() for group in serving]
        for index in range(len(sockets)):
            sockets[index].setblocking(False)
        self.watchdogs = [
            WebWatchdog(process, listening, self.options.logger)
            for group, listening in zip(serving, sockets, strict=True)
            for process in group.processes.values()
        ]
        for group in groups:
            group.transition()
        events.subscribe(events.SupervisorStoppingEvent, lambda _: self.refuse_connections(sockets))
        try:
            super().runforever()
        finally:
            sockets.clear()  # closes them while the log is still open

    def tick(self, now: float | None = None) -> None:
        """supervisord calls this about once a second."""
        super().tick(now)
        if self.options.mood >= SupervisorStates.RUNNING:
            for watchdog in self.watchdogs:
                watchdog.look()

    def refuse_connections(self, sockets: list[Any]) -> None:
        """Stop the processes that have sockets first, and refuse connections at once: proxies try another machine."""
        for group in self.process_groups.values():
            if hasattr(group, "socket_manager"):
                group.stop_all()
        time.sleep(STOP_ACCEPTING_S)
        for index in range(len(sockets)):
            with contextlib.suppress(OSError):
                sockets[index].shutdown(socket.SHUT_RDWR)


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

    def close_logger(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reader of standard output got Ctrl-C, too
            super().close_logger()


def main() -> None:
    supervisord.Supervisor, supervisord.ServerOptions = Supervisor, Options
    supervisord.main()


if __name__ == "__main__":
    main()
