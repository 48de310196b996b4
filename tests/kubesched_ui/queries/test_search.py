"""Searches run in a worker: no expression affects the web process or the next search."""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.models import Run
from kubesched_ui.offload.pool import Pool, PoolBusy, Ticket
from kubesched_ui.offload.pools import configs, get_pool, stop_pools
from kubesched_ui.queries import search_client
from kubesched_ui.queries.search_client import CRASHED, TOO_LONG, find_cycles
from scheduler_core.search.search import WrongExpression
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

LISTS = "[[1,2,3]]{}.size() > 0".format(".map(x, x + x)" * 26)
TEXTS = "['{}']{}.all(x, refused_by(x))".format("a" * 50, ".map(x, x + x)" * 24)
TREE = "[[1,2,3]]{}".format(".map(x, [x, x])" * 28)
MASSES = 'message.matches("{}")'.format("(x{0,900})" * 180)


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), *(pod(f"p{i}") for i in range(6))))


@pytest.fixture(autouse=True, scope="module")
def ended() -> Iterator[None]:
    yield
    stop_pools()


def total(run: Run, where: str = "cycle > 0") -> int:
    found: int = find_cycles(run, where, None, "all", 10)["total"]
    return found


def process() -> int:
    (worker,) = get_pool("search").workers
    return worker.run(os.getpid)  # type: ignore[no-any-return]


def peak_mb() -> int:
    """Return the peak memory of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "message"),
    [
        (LISTS, "needs too much memory"),  # doubles a list 26 times
        pytest.param(TEXTS, "needs too much memory", marks=pytest.mark.long),  # crashes the library
        (f"{TREE} == {TREE}", TOO_LONG),  # compares trees with shared branches
    ],
    ids=["lists", "texts", "trees"],
)
def test_an_expensive_expression_is_rejected(run: Run, where: str, message: str) -> None:
    before = peak_mb()
    assert total(run) == 6
    with pytest.raises(WrongExpression) as wrong:
        find_cycles(run, where, None, "all", 10)
    assert message in wrong.value.problem or wrong.value.problem in (CRASHED, TOO_LONG)
    assert total(run) == 6
    assert peak_mb() < before + 100


@pytest.mark.long
def test_a_huge_pattern_is_rejected_or_answered(run: Run) -> None:
    before = peak_mb()
    try:
        message = str(find_cycles(run, MASSES, None, "all", 10)["total"])  # on a fast machine
    except WrongExpression as wrong:
        message = wrong.problem
    assert message in ("6", TOO_LONG, CRASHED)
    assert total(run) == 6
    assert peak_mb() < before + 100


def test_the_memory_of_the_worker_is_bounded(run: Run) -> None:
    assert total(run) == 6
    limits = Path(f"/proc/{process()}/limits").read_text()
    data_size = next(line for line in limits.splitlines() if line.startswith("Max data size")).split()
    assert int(data_size[3]) == configs()["search"].memory


def test_a_dead_worker_is_restarted(run: Run) -> None:
    assert total(run) == 6
    first = process()
    os.kill(first, signal.SIGKILL)
    assert total(run) == 6
    assert process() != first


def test_the_worker_has_no_secrets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "nobody-knows")
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody-knows")
    assert total(run) == 6
    assert b"nobody-knows" not in Path(f"/proc/{process()}/environ").read_bytes()


def test_the_worker_caches_a_limited_number_of_runs(run: Run) -> None:
    runs = [run, *(ran(scenario(node("n1"), *(pod(f"p{i}") for i in range(n)), name=f"s{n}")) for n in (1, 2, 3, 4))]
    for _ in range(2):
        assert [total(one) for one in runs] == [6, 1, 2, 3, 4]


def test_a_search_that_waits_too_long_is_rejected(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(replace(configs()["search"], wait_seconds=0.01))
    monkeypatch.setattr(search_client, "get_pool", lambda name: pool)
    with pool.worker(Ticket()), pytest.raises(PoolBusy):
        find_cycles(run, "true", None, "all", 1)
    assert total(run) == 6
    pool.stop()


def test_clients_take_turns(run: Run) -> None:
    """Blocks are read before, so that threads need not see the transaction of the test."""
    assert total(run) == 6
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(total(run))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [6] * 8
