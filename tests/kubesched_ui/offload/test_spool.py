"""Spools of exports: bytes in order, files that are bounded and deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kubesched_ui.offload import client, spool
from kubesched_ui.offload.spool import BUDGET, Spool, TooManyExports

NOW = 0.0


@pytest.fixture(autouse=True)
def two_files(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user may have two files of 100 bytes."""
    monkeypatch.setattr(spool, "SEGMENT", 100)
    settings.EXPORTS_MAX_BYTES = 100 * 2 * spool.SHARE
    yield
    assert not BUDGET.files


def test_bytes_are_in_order_within_the_disk_space() -> None:
    text, found = bytes(range(250)) * 20, bytearray()
    one = Spool("ada")

    def put() -> None:
        for begin in range(0, len(text), 30):
            while not one.write(text[begin : begin + 30], 10):
                pass
        one.end()

    threading.Thread(target=put).start()
    while piece := one.read(70):
        found += piece
        assert BUDGET.files["ada"] <= 2
    assert found == text
    one.close()


def test_a_writer_without_disk_space_waits_for_the_reader() -> None:
    one = Spool("ada")
    assert all(one.write(b"x" * 100, NOW) for _ in range(2))
    assert not one.write(b"x", NOW)
    assert len(one.read(100)) == 100
    assert not one.write(b"x", NOW)  # the first file may have more
    assert one.read(1) == b"x"
    assert one.write(b"y", NOW)
    one.close()


def test_the_last_file_is_used_again_when_others_have_the_disk_space() -> None:
    one, other = Spool("ada"), Spool("ada")
    assert one.write(b"x" * 100, NOW)
    assert not one.write(b"y", NOW)
    assert one.read(100) == b"x" * 100
    reader = threading.Thread(target=lambda: found.append(one.read(100)))
    found: list[bytes] = []
    reader.start()
    assert one.write(b"y", 10)
    reader.join()
    assert found == [b"y"]
    one.close()
    other.close()


def test_a_user_leaves_disk_space_to_others(settings: Any) -> None:
    mine = [Spool("ada"), Spool("ada")]
    with pytest.raises(TooManyExports):
        Spool("ada")
    mine.append(Spool("eve"))
    settings.EXPORTS_MAX_BYTES = 300
    with pytest.raises(TooManyExports):  # of all users
        Spool("bob")
    for one in mine:
        one.close()


def test_the_disk_does_not_fill_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "LEFT_FREE", 1 << 60)
    with pytest.raises(TooManyExports):
        Spool("ada")


def test_a_closed_spool_rejects_bytes_and_wakes_its_reader() -> None:
    one = Spool("ada")
    reader = threading.Thread(target=one.read, args=(1,))
    reader.start()
    one.close()
    reader.join(10)
    assert not reader.is_alive()
    assert one.write(b"x" * 200, NOW)
    assert one.read(1) == b""


def test_incomplete_data_is_not_read_as_complete() -> None:
    one = Spool("ada")
    one.write(b"begun", NOW)
    one.end("It failed.")
    assert one.read(9) == b"begun"
    with pytest.raises(EOFError, match=r"It failed\."):
        one.read(9)
    one.close()


@pytest.mark.parametrize("waits", [True, False])
def test_a_worker_waits_for_a_slow_reader_while_no_other_request_needs_it(waits: bool) -> None:
    stream = object.__new__(client.WorkerStream)
    stream._spool, stream._seconds = Spool("ada"), 0.0
    stream._spool.write(b"x" * 100, NOW)
    stream._spool.write(b"x" * 100, NOW)

    class OthersWait:
        def order(self) -> Iterator[int]:
            if waits:
                yield 1
            stream._spool.close()

    stream._pool = OthersWait()  # type: ignore[assignment]
    if waits:
        with pytest.raises(client.ReadTooSlowly):
            stream._spool_piece(b"x")
        stream._spool.close()
    else:
        stream._spool_piece(b"x")
