"""Prometheus metrics: counters, database metrics, access, and the dashboard."""

import json
import logging
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from kubesched_ui.models import Run, Scenario
from kubesched_ui.observability import collectors, http_metrics
from kubesched_ui.observability.bounded_probe import BoundedProbe
from kubesched_ui.offload.pools import get_pool
from kubesched_ui.websockets import socket_metrics
from tests.kubesched_ui.clusters import every_outcome


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect in the thread of the test, which sees its rows, and without a cache."""

    class Here(BoundedProbe[Any]):
        def __call__(self) -> Any:
            return self.ask()

        def begin(self) -> Any:
            return None

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.close", lambda self: None)
    monkeypatch.setattr(collectors, "ask_stored", Here(collectors.samples, 5))
    monkeypatch.setattr(collectors, "ask_disk", Here(collectors.disk, 5))


def read(client: Client) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Return name -> labels -> value."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.django_db
def test_requests_are_counted_by_route_and_status(client: Client) -> None:
    def counts() -> list[float]:
        route = {"method": "GET", "route": "/runs/<int:run_id>/"}
        return [
            value("kubesched_http_requests_total", **route, status="404"),
            value("kubesched_http_request_seconds_count", **route),
            value("kubesched_http_requests_total", method="GET", route="/api/runs", status="200"),
            value("kubesched_http_requests_total", method="other", route="none", status="404"),
        ]

    before = counts()
    for number in (1, 2, 3):
        client.get(f"/runs/{number}/")
    client.get("/api/runs")
    client.generic("BREW", "/nothing")
    client.get("/healthz")
    assert [now - then for now, then in zip(counts(), before, strict=True)] == [3, 3, 1, 1]
    assert not [labels for labels in read(client)["kubesched_http_requests_total"] if "/1/" in str(labels)]


@pytest.mark.django_db
def test_uploads_and_sockets_are_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read(client)
    for body, status in ((every_outcome(), 201), (b"{", 400)):
        answer = client.post("/api/scenarios", body, content_type="application/octet-stream")
        assert answer.status_code == status
    monkeypatch.setattr(socket_metrics, "sockets", [SimpleNamespace(lag=3), SimpleNamespace(lag=40)])
    monkeypatch.setattr(socket_metrics, "messages", 7)
    get_pool("small-uploads"), get_pool("large-uploads")
    found = read(client)
    for how, number in (("stored", 1), ("refused", 1), ("failed", 0)):
        key = (("outcome", how),)
        assert found["kubesched_uploads_total"][key] - before["kubesched_uploads_total"][key] == number
    size = found["kubesched_upload_bytes_total"][()] - before["kubesched_upload_bytes_total"][()]
    assert size == len(every_outcome()) + 1
    assert found["kubesched_websockets"][()] == 2
    assert found["kubesched_websocket_lag_events_max"][()] == 40
    assert found["kubesched_websocket_lag_events_sum"][()] == 43
    assert found["kubesched_websocket_messages_total"][()] == 7
    assert found["kubesched_uploads_waiting"] == {(("line", "large"),): 0, (("line", "small"),): 0}


@pytest.mark.django_db
def test_errors_are_counted() -> None:
    root, handler = logging.getLogger(), http_metrics.CountErrors(logging.ERROR)
    if not any(isinstance(one, http_metrics.CountErrors) for one in root.handlers):  # another test configured logging
        root.addHandler(handler)
    before = value("kubesched_errors_total", logger="kubesched_ui.x")
    logging.getLogger("kubesched_ui.x").error("broken")
    logging.getLogger("kubesched_ui.x").warning("odd")
    assert value("kubesched_errors_total", logger="kubesched_ui.x") - before == 1
    root.removeHandler(handler)


@pytest.mark.django_db
def test_database_metrics_of_work_and_sizes(client: Client) -> None:
    now = timezone.now()
    scenario = Scenario.objects.create(name="s")
    Run.objects.create(scenario=scenario, created_at=now - timedelta(seconds=90), heartbeat_at=now)
    Run.objects.create(scenario=scenario, created_at=now)
    Run.objects.create(scenario=scenario, lane="short", created_at=now, heartbeat_at=now)
    Run.objects.create(
        scenario=scenario,
        state="running",
        created_at=now - timedelta(seconds=30),
        started_at=now - timedelta(seconds=20),
        pods_per_s=250,
        cycles_done=40,
        heartbeat_at=now - timedelta(days=1),
    )
    found, run = read(client), (("kind", "long"),)
    assert found["kubesched_database_up"] == {(): 1}
    assert found["kubesched_work"][(*run, ("state", "queued"))] == 2
    assert found["kubesched_work"][(*run, ("state", "done"))] == 0
    assert found["kubesched_queue_length"][run] == 2
    assert found["kubesched_queue_length"][(("kind", "short"),)] == 1
    assert 90 <= found["kubesched_queue_oldest_seconds"][run] < 150
    assert found["kubesched_queue_waited_seconds_max"][run] == pytest.approx(10)
    assert found["kubesched_queue_waited_seconds_mean"][(("kind", "upgrade"),)] == 0
    assert found["kubesched_work_stalled"][run] == 2  # lost, and never sent
    assert (found["kubesched_cycles_per_second"][()], found["kubesched_cycles_stored"][()]) == (250, 40)
    assert found["kubesched_scenarios"] == {(("origin", "upload"),): 1}
    assert found["kubesched_database_bytes"][()] > 100_000
    assert found["kubesched_disk_free_bytes"][()] > 0


@pytest.mark.django_db
def test_a_scrape_survives_a_database_outage(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise OperationalError("connection refused")

    client.get("/")
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", away)
    found = read(client)
    assert found["kubesched_database_up"] == {(): 0}
    assert "kubesched_queue_length" not in found
    assert "kubesched_http_requests_total" in found


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("172.17.0.1", {}, 403),
        ("", {}, 403),
    ],
)
@pytest.mark.django_db
def test_only_this_machine_may_read_by_default(address: str, headers: dict[str, str], status: int) -> None:
    assert Client().get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


@pytest.mark.django_db
def test_networks_or_a_token_are_configured(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["172.16.0.0/12"]
    assert Client().get("/metrics", REMOTE_ADDR="172.17.0.1").status_code == 200
    assert Client().get("/metrics", REMOTE_ADDR="127.0.0.1").status_code == 403
    settings.METRICS_TOKEN = "secret"
    for given, status in (("Bearer secret", 200), ("Bearer secrét", 403), ("secret", 403), ("", 403)):
        answer = Client().get("/metrics", REMOTE_ADDR="172.17.0.1", headers={"Authorization": given})
        assert answer.status_code == status, given


# Words of a query besides names of metrics and labels.
FUNCTIONS = {"sum", "by", "rate", "max", "min", "histogram_quantile", "le", "clamp_min", "or", "and", "on", "job"}
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def queries(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


@pytest.mark.django_db
def test_the_dashboard_queries_existing_metrics(
    client: Client, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every name in every query is a metric, a label of one, or a function."""
    get_pool("small-uploads"), get_pool("large-uploads")
    Scenario.objects.create(name="s")
    client.get("/runs/1/")
    logging.getLogger("kubesched_ui.x").error("broken")
    found = read(client)
    labels = {name for series in found.values() for key in series for name, _ in key}
    expressions = queries(json.loads((checkout / "docs" / "grafana.json").read_text()))
    assert len(expressions) > 10
    for query in expressions:
        bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\$\w+', "", query)
        metrics = {name for name in NAME.findall(bare) if name.startswith(("kubesched_", "process_"))}
        assert metrics, query
        assert metrics <= set(found), query
        assert set(NAME.findall(bare)) - metrics <= labels | FUNCTIONS, query


@pytest.mark.django_db
def test_every_metric_is_documented(client: Client, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get_pool("small-uploads"), get_pool("large-uploads")
    documentation = (checkout / "docs" / "operations.md").read_text()
    for family in text_string_to_metric_families(client.get("/metrics").content.decode()):
        if family.name.startswith("kubesched_"):
            assert f"`{family.name}" in documentation, family.name
