"""Limits of the HTTP server: memory of unread websockets, size and time of request bodies."""

import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.sync.client import connect

from kubesched_ui.web import request_bodies
from kubesched_ui.web.request_bodies import Body, DiskBudget
from tests.deployment.servers import listens
from tests.examples import selection
from tests.kubesched_ui.instance import free_port, until

pytestmark = pytest.mark.slow

APPLICATION = """
    import contextlib
    import pathlib
    import random
    import __main__
    FRAME = "x" * 100_000
    __main__.GRACE_S = __main__.READER_GRACE_S = 4
    __main__.HEADERS_S = 3
    accepted = []
    NOISE = random.Random(1).randbytes(50_000).hex()

    class Sender:
        def __init__(self, scope):
            headers = dict(scope["headers"])
            self.key = headers.get(b"x-user", b"").decode()
            self.accepted = bool(self.key) or scope["path"] == "/login"
            self.anonymous_url = scope["path"] == "/login"

    async def application(scope, receive, send):
        await receive()
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["path"] == "/long":
                for number in range(2_000):  # 200 MB
                    await send({"type": "http.response.body", "body": FRAME.encode(), "more_body": True})
                    pathlib.Path("sent").write_text(str(number + 1))
                pathlib.Path("all").touch()
            if scope["path"] == "/compressed":
                for number in range(3_000):  # 30 MB in small parts, as of a compressed export
                    await send({"type": "http.response.body", "body": b"x" * 10_000, "more_body": True})
                pathlib.Path("all").touch()
            if scope["path"] == "/accepted":
                await send({"type": "http.response.body", "body": str(len(accepted)).encode()})
                return
            if scope["path"] == "/breaks":
                await send({"type": "http.response.body", "body": b"begun", "more_body": True})
                raise OSError("the read failed")
            await send({"type": "http.response.body", "body": b"taken"})
            return
        await send({"type": "websocket.accept"})
        accepted.append(scope["path"])
        if scope["path"] == "/one-of-a-crowd":
            await receive()
            return
        if scope["path"] == "/broken":
            await send({"type": "websocket.send", "text": "seen"})
            with contextlib.suppress(Exception):  # as a task of a consumer that is not awaited
                await send({"type": "websocket.close", "code": 1011})
            await receive()
            return
        noise = scope["path"] == "/noise"
        for number in range(600 if noise else 2_000):  # 30 MB compressed; 200 MB
            await send({"type": "websocket.send", "text": NOISE if noise else FRAME})
            pathlib.Path("sent").write_text(str(number + 1))
        await send({"type": "websocket.close", "code": 1000})

    application.sender_of = Sender
"""


USER = {"X-User": "ada"}

port = pytest.fixture(free_port)


FILES = 6000  # that the server may open


@contextmanager
def started(folder: Path, checkout: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a folder, where it writes `log`, `sent` and `all`."""
    (folder / "pushing.py").write_text(textwrap.dedent(APPLICATION))
    command = [
        "prlimit",
        f"--nofile={FILES}:{FILES}",
        sys.executable,
        "-m",
        "kubesched_ui.web.server",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        "pushing:application",
    ]
    environment = {"PYTHONPATH": f"{checkout}:{folder}", "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"}
    environment |= {"INGEST_MAX_BYTES": "1000000", "UPLOADS_AT_ONCE": "2"}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    until(lambda: listens("127.0.0.1", port), "the start")
    yield process
    process.terminate()
    process.wait(30)


@pytest.fixture
def process(tmp_path: Path, checkout: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    with started(tmp_path, checkout, port) as process:
        yield process


@dataclass(frozen=True)
class SharedServer:
    """A server of all tests that leave it as it was."""

    folder: Path
    port: int


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Iterator[SharedServer]:
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    with started(folder, checkout, port):
        yield SharedServer(folder, port)


@pytest.fixture
def shared_connection(shared: SharedServer) -> Iterator[HTTPConnection]:
    connection = HTTPConnection("127.0.0.1", shared.port, timeout=60)
    yield connection
    connection.close()


@pytest.fixture
def server(process: subprocess.Popen[bytes], port: int) -> str:
    return f"ws://127.0.0.1:{port}/"


@pytest.fixture
def connection(server: str) -> HTTPConnection:
    return HTTPConnection(server.removeprefix("ws://").rstrip("/"), timeout=60)


def settled(path: Path) -> int:
    """Return the number in `path` once it stops growing."""
    before, now = -1, 0
    while now != before:
        time.sleep(0.5)
        before, now = now, int(path.read_text() or 0) if path.exists() else 0
    return now


@pytest.mark.parametrize(("size", "status"), [(2_000_000, 200), (5_000_000, 413)])
def test_a_body_beyond_the_largest_upload_is_discarded(
    shared_connection: HTTPConnection, size: int, status: int
) -> None:
    for body in (b"x" * size, iter([b"x" * 100_000] * (size // 100_000))):  # with a length, and in chunks
        shared_connection.request("POST", "/", body, USER)
        answer = shared_connection.getresponse()
        assert answer.status == status, answer.read()
        assert (b"larger than" in answer.read()) is (status == 413)


@pytest.mark.parametrize("boundary", ["", "; boundary=x", "; boundary=" + "x" * 300])
def test_an_incomplete_form_reaches_the_application(shared_connection: HTTPConnection, boundary: str) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'
    shared_connection.request("POST", "/", body, {"Content-Type": f"multipart/form-data{boundary}"})
    assert shared_connection.getresponse().read() == b"taken"


@pytest.mark.long
def test_a_response_that_fails_midway_is_aborted(server: str) -> None:
    for _ in range(3):  # the server still manages its connections
        connection = HTTPConnection(server.removeprefix("ws://").rstrip("/"), timeout=10)
        connection.request("GET", "/breaks")
        with pytest.raises((IncompleteRead, ConnectionResetError)):
            connection.getresponse().read()


@pytest.mark.long
def test_a_response_waits_for_a_slow_client(connection: HTTPConnection, tmp_path: Path) -> None:
    connection.request("GET", "/long")
    answer = connection.getresponse()
    assert settled(tmp_path / "sent") < 200  # some megabytes in the sockets, not 200
    assert len(answer.read()) == 2_000 * 100_000 + len(b"taken")
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"taken"


@pytest.mark.long
@pytest.mark.parametrize("leaves", selection([True, False], 2))
def test_a_response_to_a_client_that_reads_nothing_is_aborted(
    connection: HTTPConnection, tmp_path: Path, leaves: bool
) -> None:
    connection.request("GET", "/long")
    answer = connection.getresponse()
    if leaves:
        answer.close()
        connection.close()
    until((tmp_path / "all").exists, "the end of the response")  # to no client
    if not leaves:
        with pytest.raises((ConnectionResetError, IncompleteRead)):
            answer.read()


def test_the_access_log_contains_no_secret(connection: HTTPConnection, server: str, tmp_path: Path) -> None:
    secret = "s3cret-" * 6
    for path in (f"/shared/{secret}/", f"/classes/{secret}/move/?q=s3cret", "/runs/?q=s3cret"):
        connection.request("GET", path)
        assert connection.getresponse().read() == b"taken"
    with connect(f"{server}ws/classes/teach/{secret}?token=s3cret", close_timeout=0.1) as socket:
        socket.recv()
    log = until(lambda: "WSCONNECT " in (text := (tmp_path / "log").read_text()) and text, "the line of the websocket")
    assert '"GET /shared/.../" 200' in log
    assert '"GET /classes/.../move/" 200' in log
    assert '"GET /runs/" 200' in log
    assert '"WSCONNECT /ws/classes/teach/..."' in log
    assert "s3cret" not in log


def test_a_socket_that_the_server_gives_up_is_closed(shared: SharedServer) -> None:
    with connect(f"ws://127.0.0.1:{shared.port}/broken") as socket:
        assert socket.recv(timeout=5) == "seen"
        with pytest.raises(ConnectionClosedError) as closed:
            socket.recv(timeout=5)
    assert closed.value.rcvd
    assert closed.value.rcvd.code == 1011


@pytest.mark.long
@pytest.mark.parametrize("window", selection([None, 10], 2))
def test_compressed_messages_wait_for_a_slow_client_and_pings_pass(
    server: str, tmp_path: Path, window: int | None
) -> None:
    offers = [ClientPerMessageDeflateFactory(server_max_window_bits=window)]
    with connect(f"{server}noise", max_queue=1, max_size=None, compression=None, extensions=offers) as client:
        assert client.protocol.extensions[0].name == "permessage-deflate"
        noise = client.recv()
        assert len(noise) == 100_000
        assert settled(tmp_path / "sent") < 300
        pong = client.ping()
        rest = list(client)
        assert pong.is_set()
    assert len(rest) == 599
    assert set(rest) == {noise}


@pytest.mark.parametrize("path", ["/broken", "/one-of-a-crowd"])
def test_a_closed_websocket_ends_with_a_fin(process: subprocess.Popen[bytes], port: int, path: str) -> None:
    """After a reset, a proxy logs an error with the URL, which may contain a secret."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(HANDSHAKE.replace(b"/one-of-a-crowd", path.encode()))
        received = b""
        while b"\r\n\r\n" not in received:
            received += client.recv(4096)
        if path == "/one-of-a-crowd":
            process.terminate()
        code = 1012 if path == "/one-of-a-crowd" else 1011
        close = b"\x88\x02" + code.to_bytes(2, "big")
        while close not in received:
            received += client.recv(4096)
        client.sendall(b"\x88\x82\0\0\0\0" + close[2:])
        assert client.recv(4096) == b""  # ConnectionResetError after a reset


@pytest.mark.long
def test_sending_waits_for_a_slow_client_and_loses_nothing(server: str, tmp_path: Path) -> None:
    with connect(server, max_queue=1, max_size=None, compression=None) as client:
        client.recv()
        assert settled(tmp_path / "sent") < 200  # some megabytes in the sockets, not 200
        assert sum(len(frame) for frame in client) == 1_999 * 100_000


@pytest.mark.long
def test_a_slow_client_is_disconnected(process: subprocess.Popen[bytes], port: int, tmp_path: Path) -> None:
    """It reads 2 kB a second, less than a worker can wait for."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /compressed HTTP/1.1\r\nHost: x\r\n\r\n")

        def ends() -> bool:
            try:
                client.recv(100)
            except ConnectionResetError:
                return True
            return (tmp_path / "all").exists()

        until(ends, "the end of the response")


@pytest.mark.long
def test_slow_headers_are_aborted(port: int, connection: HTTPConnection) -> None:
    """One byte at a time, on a new connection and after a complete request."""
    for begin in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(begin + b"GET / HTTP/1.1\r\nX: ")
            received = trickled(client)
        assert received.count(b" 200 OK") == bool(begin)
        assert b" 408 " in received
        assert b"did not arrive within 3 s" in received


def trickled(client: socket.socket) -> bytes:
    """Send a byte now and then until the server closes the connection. Return its response."""
    client.settimeout(0.2)
    received = b""
    for _ in range(200):
        try:
            client.sendall(b"x")
            if not (data := client.recv(4096)):
                break
            received += data
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            break
    return received


@pytest.mark.long
def test_the_oldest_incomplete_headers_are_dropped_first(process: subprocess.Popen[bytes], port: int) -> None:
    most = FILES // 8
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(most + 5)]
        assert [one.recv(1) for one in crowd[:5]] == [b""] * 5


@pytest.mark.long
def test_slow_bodies_leave_disk_space_to_others(port: int, connection: HTTPConnection) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1500000\r\n"
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(10)]
        for stranger in crowd[:9]:
            stranger.sendall(head + b"\r\nbegun")
        crowd[9].sendall(head + b"X-User: eve\r\n\r\nbegun")
        connection.request(
            "POST", "/", b"x" * 1_200_000, USER
        )  # of two files, anonymous clients have none and eve has one
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"taken")
        assert b"arrives too slowly" in trickled(crowd[0])
        assert b"arrives too slowly" in crowd[9].recv(4096)


def test_a_body_sent_with_its_headers_is_accepted(shared_connection: HTTPConnection, shared: SharedServer) -> None:
    shared_connection.connect()
    for _ in range(3):  # on one connection
        shared_connection.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n" + b"x" * 20_000)
        response = HTTPResponse(shared_connection.sock)
        response.begin()
        assert response.read() == b"taken"
    assert "Traceback" not in (shared.folder / "log").read_text()


def test_a_body_for_a_public_url_is_short(shared_connection: HTTPConnection) -> None:
    for size, status in ((10_000, 200), (200_000, 413)):
        shared_connection.request("POST", "/login", b"x" * size)
        answer = shared_connection.getresponse()
        assert (answer.status, b"larger than 16384" in answer.read()) == (status, status == 413)


def test_large_bodies_have_a_disk_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = DiskBudget()
    monkeypatch.setattr(request_bodies, "BUDGET", budget)
    budget.most, budget.most_bytes = 2, 10_000_000
    small, first, second, third = Body(1000), Body(4_000_000, "ada"), Body(None, "bob"), Body(4_000_000, "eve")
    assert Body(4_000_000, "ada").fits(4_000_000) == ""
    assert small.fits(1_000_000) == ""
    assert [first.fits(4_000_000), second.fits(2_000_000), second.fits(3_000_000)] == ["", "", ""]
    assert (budget.bodies, budget.bytes) == (2, 7_000_000)
    budget.most = 3
    assert "the limit of 1 uploads at once" in Body(4_000_000, "ada").fits(2_000_000)
    budget.most = 2
    assert "too many uploads" in third.fits(4_000_000)
    assert "too many uploads" in second.fits(7_000_000)
    second.close()
    second.close()
    assert third.fits(4_000_000) == ""
    del first, third
    assert (budget.bodies, budget.bytes, len(budget.senders)) == (0, 0, 0)
    budget.left_free = 2**60
    assert "disk is almost full" in Body(None).fits(2_000_000)


HANDSHAKE = (
    b"GET /one-of-a-crowd HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def test_a_page_is_served_during_many_websocket_handshakes(process: subprocess.Popen[bytes], port: int) -> None:
    page = HTTPConnection("127.0.0.1", port)
    page.request("GET", "/")
    assert page.getresponse().read() == b"taken"
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(300)]
        page.request("GET", "/accepted")  # all of them are connected once this responds
        assert page.getresponse().read() == b"0"
        process.send_signal(signal.SIGSTOP)
        for one in crowd:
            one.sendall(HANDSHAKE)
        crowd.pop().close()  # one of them disconnects without an effect
        page.request("GET", "/accepted")
        process.send_signal(signal.SIGCONT)
        assert int(page.getresponse().read()) < 100
        assert all(one.recv(4096).startswith(b"HTTP/1.1 101 ") for one in crowd)


def test_an_upload_without_disk_space_gives_503(connection: HTTPConnection, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as slow:  # each sender has half of UPLOADS_AT_ONCE
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-User: ada\r\nContent-Length: 1500000\r\n\r\nbegun")
        time.sleep(0.3)
        slow.sendall(b"more")
        time.sleep(0.3)
        connection.request("POST", "/", b"x" * 1_200_000, USER)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (503, "30")
        assert b"the limit of 1 uploads at once" in answer.read()
        connection.request("POST", "/", b"x" * 1000)
        assert connection.getresponse().read() == b"taken"

    def taken() -> bool:
        connection.request("POST", "/", b"x" * 1_200_000, USER)
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200

    until(taken, "the return of the disk budget", 10)  # once the server has noticed the disconnect
