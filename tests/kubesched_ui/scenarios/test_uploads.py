"""Upload workers: a failed upload affects no other, and small uploads do not wait for large ones."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from kubesched_ui.ingest import IngestError
from kubesched_ui.models import ClusterObject, Scenario, current_viewer
from kubesched_ui.offload import pool as pools_module
from kubesched_ui.offload.pool import Pool, Ticket
from kubesched_ui.offload.pools import configs, get_pool, stop_pools
from kubesched_ui.runtime.outages import ServiceUnavailable
from kubesched_ui.scenarios import progress, upload_worker, uploads
from tests.kubesched_ui import misbehaving
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

TOKEN = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def worker_process(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Read uploads in worker processes, with the database of the test and small limits."""
    settings.INGEST_ISOLATED = True
    settings.VAR_DIR = tmp_path
    settings.INGEST_READERS = 1
    settings.INGEST_MAX_SECONDS = 2
    settings.INGEST_MAX_MEMORY = 2 * 1024**3
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{connection.settings_dict['NAME']}")
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    stop_pools()
    yield
    stop_pools()


def upload(name: str = "name", number: int = 1, token: str = "") -> Scenario:
    files: Any = [("a.json", as_list(node("n"), *(pod(f"p{i}") for i in range(number))))]
    return uploads.store_upload(files, name, token=token).scenario


def test_a_worker_reads_and_stores_an_upload_or_returns_its_error(tmp_path: Path) -> None:
    scenario = upload()
    assert scenario.counts == {"Node": 1, "Pod": 1}
    assert [o["kind"] for o in scenario.objects_of()] == ["Node", "Pod"]
    # An error is returned unchanged.
    (tmp_path / "file").write_bytes(b"{")
    for content in (b"{", tmp_path / "file"):
        with pytest.raises(
            IngestError, match=r"^bad\.json, document 1: is not JSON as its name says, and not YAML in line 2"
        ):
            uploads.store_upload([("bad.json", content)])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (misbehaving.crash, r"the worker failed \(exit code -6\)"),
        (misbehaving.hang, "could not be read within 2 s"),
        (misbehaving.hog, "could not be read within 2,048 MB of memory"),
    ],
)
@pytest.mark.long
def test_a_worker_that_dies_is_reported_and_replaced(
    wrong: Callable[..., None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(upload_worker, "read_upload", wrong)
        patched.setattr(uploads, "SMALL", -1)  # an upload that takes too long is not retried
        with pytest.raises(IngestError, match=why):
            upload()
    assert upload().counts == {"Node": 1, "Pod": 1}


@pytest.mark.long
def test_objects_stored_by_a_worker_that_died_are_removed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.INGEST_MAX_SECONDS = 60
    with monkeypatch.context() as patched:
        patched.setattr(upload_worker, "read_upload", misbehaving.crash_in_the_middle)
        with pytest.raises(IngestError, match="the worker failed"):
            upload(number=3000)
    assert not Scenario.everything.exists()
    assert not ClusterObject.objects.exists()


@pytest.mark.long
def test_a_worker_is_reused_for_small_uploads_and_replaced_after_it_grew() -> None:
    upload()
    pool = get_pool("small-uploads")
    (worker,) = pool.workers
    first = pool.run(os.getpid)
    upload()
    assert pool.run(os.getpid) == first
    worker.config = replace(worker.config, memory_kept=1)
    upload()
    assert not worker.active
    until(lambda: not (Path("/proc") / str(first)).exists(), "the end of the worker")


@pytest.mark.long
def test_a_worker_exits_with_its_parent(checkout: Path) -> None:
    program = (
        "import os, django; django.setup()\nfrom kubesched_ui.offload.pools import get_pool\n"
        "if __name__ == '__main__': print(get_pool('small-uploads').run(os.getpid), flush=True); input()"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings"}
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout
    child = Path("/proc") / parent.stdout.readline().strip()
    assert child.exists()
    parent.kill()
    parent.wait()
    until(lambda: not child.exists(), "the end of the reader")


class HeldUploads:
    """Large uploads whose workers wait for `release`."""

    def __init__(self, tmp_path: Path) -> None:
        self.gate = tmp_path / "gate"
        self.threads: list[threading.Thread] = []
        self.done: list[Any] = []

    def upload(self, name: str, number: int = 1, owner: int | None = None, token: str = "") -> None:
        """Upload in a thread. Return once the upload is read or queued."""

        def make() -> None:
            try:
                with current_viewer.as_viewer(current_viewer.OwnerViewer(owner)):
                    self.done.append((name, upload(name, number, token).counts["Pod"]))
            except Exception as error:
                self.done.append((name, error))
            finally:
                connection.close()

        line, thread = get_pool("large-uploads"), threading.Thread(target=make)
        before = len(line.waiting) + len(line.running)
        self.threads.append(thread)
        thread.start()
        until(lambda: len(line.waiting) + len(line.running) > before, "the upload's place")

    def release(self) -> list[Any]:
        self.gate.touch()
        for thread in self.threads:
            thread.join(60)
        return self.done


@pytest.fixture
def held(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> HeldUploads:
    monkeypatch.setattr(upload_worker, "read_upload", misbehaving.hold)
    settings.INGEST_MAX_SECONDS = 60
    monkeypatch.setattr(uploads, "SMALL", 1000)
    return HeldUploads(tmp_path)


def test_a_small_upload_overtakes_a_large_one(held: HeldUploads) -> None:
    held.upload(f"held {held.gate}", 50)
    held.upload("waits", 60, token=TOKEN)
    assert until(lambda: progress.progress_of(TOKEN), "the message to the waiting upload") == {"ahead": 1}
    assert upload(number=0).counts == {"Node": 1}
    figures = get_pool("large-uploads").figures()
    assert (figures["waiting"], figures["running"], held.done) == (1, 1, [])
    assert [number for _, number in held.release()] == [50, 60]
    assert progress.progress_of(TOKEN) == {}


@pytest.mark.long
def test_large_uploads_are_read_in_parallel(held: HeldUploads, settings: Any) -> None:
    settings.INGEST_READERS = 2
    held.upload(f"held {held.gate}", 50)
    held.upload("in parallel", 60)
    assert until(lambda: held.done, "the end of the second") == [("in parallel", 60)]
    assert [number for _, number in held.release()] == [60, 50]


@pytest.mark.long
def test_smaller_uploads_go_first_and_users_take_turns(held: HeldUploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools_module, "BYTES_PER_SECOND", 1)
    held.upload(f"held {held.gate}", 40, owner=None)
    for name, number in (("larger", 300), ("smaller", 100), ("middle", 200)):
        held.upload(name, number)
    assert [name for name, _ in held.release()][1:] == ["smaller", "middle", "larger"]
    line = Pool(configs()["large-uploads"])
    mine, mine_too, hers = (Ticket(size=size, user=user, created=0) for size, user in ((1, 1), (2, 1), (3, 2)))
    line.waiting = [hers, mine_too, mine]
    assert list(line.order()) == [mine, hers, mine_too]
    line.running = [Ticket(user=1)]
    assert list(line.order()) == [hers, mine, mine_too]
    line.config = replace(line.config, running_per_user=1)
    assert list(line.order()) == [hers]


def test_a_large_upload_does_not_wait_forever() -> None:
    line = Pool(configs()["large-uploads"])
    old, new = Ticket(size=100 * pools_module.BYTES_PER_SECOND, created=0), Ticket(created=101)
    line.waiting = [new, old]
    assert list(line.order()) == [old, new]


@pytest.mark.long
def test_a_small_upload_that_takes_long_moves_to_the_large_ones(
    held: HeldUploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_worker, "read_upload", misbehaving.slow)
    assert upload().counts == {"Node": 1, "Pod": 1}  # after a second in the worker for small uploads
    assert [len(get_pool(name).workers) for name in ("small-uploads", "large-uploads")] == [1, 1]


@pytest.mark.long
def test_an_upload_is_rejected_if_the_queue_is_full(
    held: HeldUploads, monkeypatch: pytest.MonkeyPatch, client: Any
) -> None:
    held.upload(f"held {held.gate}", 50)
    pool = get_pool("large-uploads")
    pool.config = replace(pool.config, queue=0)
    body = as_list(*(pod(f"p{i}") for i in range(50)))
    with pytest.raises(ServiceUnavailable):
        upload(number=50)
    answer = client.post("/api/scenarios", body, content_type="application/octet-stream")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "Too many uploads" in answer.json()["error"]
    page = client.post("/upload/", {"text": body.decode()})
    assert (page.status_code, page["Retry-After"]) == (503, "30")
    assert b"Too many uploads" in page.content
    held.release()
