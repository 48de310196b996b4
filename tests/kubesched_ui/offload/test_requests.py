"""Requests in the offload pool: same responses, limits, and reported failures."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client

from kubesched_ui.models import ClusterObject, Cycle, Run
from kubesched_ui.offload import middleware, request_worker, spool
from kubesched_ui.offload.client import BrokenStream
from kubesched_ui.offload.pool import Ticket
from kubesched_ui.offload.pools import configs, get_pool, stop_pools
from kubesched_ui.offload.spool import BUDGET
from kubesched_ui.queries import recording_cache
from kubesched_ui.scenarios import stored_cluster
from tests.kubesched_ui import misbehaving
from tests.kubesched_ui.http_api import body, exported
from tests.kubesched_ui.instance import until
from tests.kubesched_ui.recordings import node, pod, ran, scenario

FORMATS = ("jsonl", "run", "simulator", "parquet")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def fresh_pools() -> Iterator[None]:
    """Tests share the workers, which take a second to start."""
    stop_pools()
    yield
    stop_pools()


@pytest.fixture
def run(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Let workers read the database of the test."""
    name, vendor = connection.settings_dict["NAME"], connection.vendor
    if vendor == "sqlite":
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{name}")
    found = ran(scenario(node("n1"), *(pod(f"p{i}", cpu="3") for i in range(3)), name="beside"))
    settings.OFFLOAD, settings.OFFLOAD_PROCESSES = True, 1
    stored_cluster._kept.cache_clear()
    before = {name: get_pool(name).config for name in ("requests", "exports")}
    yield found
    for name, config in before.items():
        get_pool(name).config = config


SEARCHING = (
    "/runs/{0}/together/",
    *(f"/runs/{{0}}/pods/default/p1/{part}/" for part in ("why", "trials", "claims")),
    "/compare/{0}/{0}/",
    *(f"/api/runs/{{0}}/{part}" for part in ("find?where=true", "remedies")),
    *(f"/api/runs/{{0}}/pods/default/p1/{part}" for part in ("remedies", "provenance?point=total", "trials", "claims")),
    *(f"/api/compare{part}?a={{0}}&b={{0}}&pod=default/p1" for part in ("", "/partners", "/cause")),
    *(f"/api/runs/{{0}}/export?format={form}" for form in FORMATS),
)


def test_searches_and_replays_do_not_run_in_the_web_process(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small the run."""
    offloads: list[str] = []

    def respond(request: HttpRequest, about: str = "") -> HttpResponse:
        offloads.append(request.get_full_path())
        assert about == ("" if "export" in request.path else str(run.pk))
        return HttpResponse("by another process")

    monkeypatch.setattr(middleware.client, "respond", respond)
    monkeypatch.setattr(middleware.client, "stream", respond)
    addresses = [address.format(run.pk) for address in SEARCHING]
    for address in addresses:
        assert client.get(address).content == b"by another process", address
    assert offloads == addresses


def test_workers_return_the_same_responses(client: Client, run: Run, settings: Any) -> None:
    base = f"/runs/{run.pk}/"
    addresses = [
        f"{base}pods/default/p1/why/",
        f"{base}pods/default/none/why/",
        f"{base}together/",
        f"/api{base}remedies",
        f"/api{base}find?where=%28",
        f"/api{base}pods/default/p0/provenance?point=filter&plugin=NodeResourcesFit",
    ]
    offloaded = [client.get(address) for address in addresses]
    settings.OFFLOAD = False
    for address, answer in zip(addresses, offloaded, strict=True):
        here = client.get(address)
        assert answer.status_code == here.status_code, address
        hidden = [value.encode() for got in (answer, here) for value in [got.context and str(got.context["csrf_token"])]
                  if value]  # fmt: skip
        if not hidden:
            assert answer.content == here.content, address
        assert dict(answer.headers).keys() >= dict(here.headers).keys() - {"Content-Length", "Vary"}


def test_a_form_from_a_worker_can_be_posted(run: Run) -> None:
    """Its token and its cookie come from the same process."""
    client = Client(headers={"host": "localhost"}, enforce_csrf_checks=True)
    text = client.get(f"/runs/{run.pk}/pods/default/p1/why/").content.decode()
    token = text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    sent = client.post(f"/runs/{run.pk}/rename/", {"csrfmiddlewaretoken": token, "name": "named"})
    assert sent.status_code == 302


@pytest.mark.long
def test_workers_return_the_same_exports(client: Client, run: Run, settings: Any) -> None:
    offloaded = {form: exported(client, run, form) for form in FORMATS}
    settings.OFFLOAD = False
    assert {form: exported(client, run, form) for form in ("jsonl", "run", "simulator")} == {
        form: data for form, data in offloaded.items() if form != "parquet"
    }
    assert abs(len(offloaded["parquet"]) - len(exported(client, run, "parquet"))) < 100


@pytest.mark.long
@pytest.mark.parametrize("where", ["beside", "here"])
def test_an_unreadable_export_breaks(client: Client, run: Run, settings: Any, where: str) -> None:
    """A damaged trace breaks the connection, so that the file does not look complete."""
    settings.OFFLOAD = where == "beside"
    Cycle.objects.filter(run=run, number=2).update(trace=b"\x03garbage")
    for form in FORMATS:
        with pytest.raises(
            BrokenStream if where == "beside" else Exception,
            match=r"before the response was complete|damaged|cycle trace",
        ):
            exported(client, run, form)


@pytest.mark.long
def test_a_request_that_takes_too_long_is_stopped(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = get_pool("requests")
    pool.config = replace(pool.config, seconds=0.2)
    pool.stop()  # the next worker has this configuration
    with monkeypatch.context() as patched:
        patched.setattr(request_worker, "respond", misbehaving.hang)
        answer = client.get(f"/api/runs/{run.pk}/remedies")
    assert (answer.status_code, answer.json()["error"]) == (503, "This took longer than 0.2 s and was stopped.")
    pool.workers[0].config = configs()["requests"]
    assert client.get(f"/api/runs/{run.pk}/remedies").status_code == 200


def test_a_client_that_does_not_read_blocks_no_worker(
    client: Client, run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export is larger than the capacity of a pipe."""
    ClusterObject.objects.create(
        scenario=run.scenario, position=100, kind="Pod", namespace="default", name="x",
        data=pod("x", nodeSelector={"x": "y" * 500_000}),
    )  # fmt: skip
    address, pool = f"/api/scenarios/{run.scenario_id}/export", get_pool("exports")
    pool.config = replace(pool.config, wait_seconds=5)
    unread = [client.get(address) for _ in range(2)]
    assert [answer.status_code for answer in unread] == [200, 200]
    first, second = (body(answer) for answer in unread)
    assert len(first) > 500_000
    assert first == second
    assert not pool.running
    settings.EXPORTS_MAX_BYTES = 1
    monkeypatch.setattr(spool, "SEGMENT", 100_000)
    leaving = client.get(address)
    assert pool.running  # it waits for disk space
    leaving.close()
    until(lambda: not pool.running, "the end of an export without a reader")
    assert not BUDGET.files


@pytest.mark.long
def test_a_request_that_needs_too_much_memory_is_rejected(client: Client, run: Run, settings: Any) -> None:
    settings.OFFLOAD_MAX_MEMORY = 8 << 20
    stop_pools()
    answer = client.get(f"/runs/{run.pk}/together/")
    stop_pools()
    assert answer.status_code == 503
    assert "8 MB of memory" in answer.content.decode()


@pytest.mark.long
def test_a_killed_worker_is_replaced(client: Client, run: Run) -> None:
    for _ in range(2):
        assert client.get(f"/runs/{run.pk}/together/").status_code == 200
        os.kill(get_pool("requests").run(os.getpid), signal.SIGKILL)


def test_a_request_is_rejected_with_retry_after_if_all_workers_are_busy(client: Client, run: Run) -> None:
    pool = get_pool("requests")
    pool.config = replace(pool.config, wait_seconds=0.05)
    with pool.worker(Ticket()):
        answer = client.get(f"/api/runs/{run.pk}/remedies")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")


@pytest.mark.long
def test_a_slow_page_shows_progress_and_then_its_content(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "PATIENCE", 0.001)
    address = f"/compare/{run.pk}/{run.pk}/"
    first = client.get(address)
    assert first.status_code == 202
    page = first.content.decode()
    assert all(part in page for part in ("Preparing the page", "js/poll_reload", 'http-equiv="refresh"'))
    monkeypatch.setattr(middleware, "PATIENCE", 60)
    assert client.get(address).status_code == 200
    assert not middleware._making


@pytest.mark.long
def test_pages_of_large_runs(client: Client, run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker computes what is too large for the web process. All else is computed here."""
    for module in (middleware, recording_cache):
        monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(middleware, "PATIENCE", 60)
    with pytest.raises(recording_cache.NotRecorded, match="large"):
        recording_cache.recording_of(run)
    base, scenario_page = f"/runs/{run.pk}/", f"/scenarios/{run.scenario_id}/"
    addresses = [base, f"{base}nodes/n1/", f"{base}charts/gaps/", f"{base}pods/default/p0/", f"{base}pods/default/p1/"]
    addresses += [
        scenario_page,
        f"{scenario_page}nodes/",
        f"{scenario_page}pods/",
        f"/api{base}state",
        f"/api{base}map",
    ]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200, address
    assert stored_cluster._kept.cache_info().currsize == 0


def test_large_responses_are_streamed(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(40):
        ClusterObject.objects.create(
            scenario=run.scenario, position=100 + index, kind="Pod", namespace="default", name=f"x{index}",
            data=pod(f"x{index}", nodeSelector={str(index): "y" * 200}),
        )  # fmt: skip
    address = f"/scenarios/{run.scenario_id}/pods/"
    monkeypatch.setattr(middleware, "LARGE", 0)
    monkeypatch.setattr(middleware, "PATIENCE", 60)
    assert client.get(address).content.decode().rstrip().endswith("</html>")
