"""A worker whose event loop is stuck ends, unless the broker is unreachable."""

import pytest

from kubesched_ui.observability import worker_watchdog as watchdog


class Ended(Exception):
    pass


def test_a_worker_ends_after_silent_checks_with_a_reachable_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = ["beat", "silent", "away", *["silent"] * watchdog.MAX_SILENT_CHECKS]
    seen: list[str] = []

    def sleep(seconds: float) -> None:
        seen.append(checks.pop(0))
        if seen[-1] == "beat":
            watchdog._alive.set()

    def end(code: int) -> None:
        raise Ended

    monkeypatch.setattr(watchdog.time, "sleep", sleep)
    monkeypatch.setattr(watchdog, "broker_answers", lambda: seen[-1] != "away")
    monkeypatch.setattr(watchdog.os, "_exit", end)
    with pytest.raises(Ended):
        watchdog.watch()
    assert checks == []
