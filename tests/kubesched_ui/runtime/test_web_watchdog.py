"""The limits of the watchdog: from the first answer of a process, and longer after each replacement."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from supervisor.states import ProcessStates

from kubesched_ui.runtime import web_watchdog
from kubesched_ui.runtime.web_watchdog import MOST, SILENT_S, START_S, STEADY_S, WebWatchdog

HANG_S = 3 * START_S * MOST


class WebProcess:
    """A process of supervisord that answers, or not, through a real socket."""

    config = SimpleNamespace(name="web")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pid, self.state = 1, ProcessStates.RUNNING
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(5)
        self.now = 0.0
        monkeypatch.setattr(web_watchdog.time, "monotonic", lambda: self.now)
        self.watchdog = WebWatchdog(self, self.listening, SimpleNamespace(warn=print))
        self.stops = 0

    def stop(self) -> None:
        self.stops, self.state = self.stops + 1, ProcessStates.STOPPED

    def spawn(self) -> None:
        self.pid, self.state = self.pid + 1, ProcessStates.RUNNING

    def hang(self, seconds: float, step: float = 1) -> float:
        """Let time pass without an answer until the process is stopped. Return the seconds until then."""
        began, stops = self.now, self.stops
        while self.stops == stops and self.now - began < seconds:
            self.now += step
            self.watchdog.look()
        return self.now - began

    def answer(self, status: str = "200 OK") -> None:
        """Accept the connections that wait, and answer each."""
        self.now += web_watchdog.EVERY_S
        self.watchdog.look()  # sends a request
        self.watchdog.look()
        self.listening.setblocking(False)
        try:
            while True:
                connection, _ = self.listening.accept()
                connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok".encode())
                connection.close()
        except BlockingIOError:
            pass
        self.now += 1
        self.watchdog.look()


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebProcess]:
    found = WebProcess(monkeypatch)
    yield found
    found.watchdog._close()
    found.listening.close()


def test_a_process_that_has_not_answered_has_time_to_start(web: WebProcess) -> None:
    web.hang(START_S - 20)
    assert web.stops == 0
    web.answer()
    assert web.hang(HANG_S) == pytest.approx(SILENT_S, abs=2)


def test_the_limit_of_a_new_process_counts_from_its_first_answer(web: WebProcess) -> None:
    web.answer()
    web.pid += 1  # it died, and supervisord started another one
    web.hang(10 * SILENT_S)
    assert web.stops == 0


def test_each_replacement_doubles_the_limits_until_answers_are_steady(web: WebProcess) -> None:
    limits = []
    for _ in range(6):
        web.hang(1)
        web.answer()
        limits.append(round(web.hang(HANG_S) / SILENT_S))
    assert limits == [1, 2, 4, 8, 16, 16]
    assert web.hang(HANG_S) == pytest.approx(MOST * START_S, rel=0.01)
    for _ in range(STEADY_S):
        web.answer()
    assert web.hang(HANG_S) == pytest.approx(SILENT_S, abs=2)


def test_other_answers_do_not_count(web: WebProcess) -> None:
    web.answer()
    for _ in range(SILENT_S):
        web.answer("500 Internal Server Error")
    assert web.stops == 1


def test_a_machine_that_slept_replaces_nothing(web: WebProcess) -> None:
    web.answer()
    web.hang(3600, step=3600)
    assert web.stops == 0


def test_a_process_that_supervisord_stops_is_left_to_it(web: WebProcess) -> None:
    web.answer()
    web.state = ProcessStates.STOPPED
    web.hang(10 * SILENT_S)
    assert (web.stops, web.pid) == (0, 1)
