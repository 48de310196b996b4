"""The product that a benchmark starts: its processes, or its code in this process."""

import json
import logging
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import memory_mb
from tests.kubesched_ui.instance import Instance, until

ROLES = {"worker": "celery", "web": "kubesched_ui.web.server"}
PATIENCE_S = 3600


def as_list(objects: list[dict[str, Any]]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


class Product(Instance):
    """The processes of `manage.py run` with their own data."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, path: str, body: Any = None) -> tuple[Any, float]:
        """Return the response to a GET, or to a POST of `body`, and its seconds."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        start = time.perf_counter()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data, kind), timeout=900) as answer:
            text = answer.read()
        took = time.perf_counter() - start
        return (json.loads(text) if answer.headers.get_content_type() == "application/json" else text), took

    def upload(self, objects: list[dict[str, Any]]) -> int:
        """Return the number of a new scenario."""
        return int(self.call("/api/scenarios", as_list(objects))[0]["id"])

    def start_run(self, scenario: int, **settings: Any) -> int:
        """Return the number of a new run."""
        return int(self.call(f"/api/scenarios/{scenario}/runs", settings)[0]["id"])

    def run(self, scenario: int, **settings: Any) -> dict[str, Any]:
        """Return a finished new run."""
        return dict(self.finished(self.start_run(scenario, **settings), PATIENCE_S))

    def role(self, name: str) -> list[int]:
        """Return the processes that are web processes or workers."""
        supervisors = self.pids("supervisord")
        return [pid for pid in self.pids(ROLES[name]) if pid not in supervisors]

    def peak_mb(self) -> dict[str, int]:
        """Return role -> peak resident memory of its largest process."""
        return {role: max(memory_mb(self.role(role), "VmHWM"), default=0) for role in ROLES}


@contextmanager
def running(var: Path | None = None, **environment: str) -> Iterator[Product]:
    """Start the product for the block, with a data folder that is deleted afterwards unless `var` names one."""
    with tempfile.TemporaryDirectory() as folder:
        product = Product(var or Path(folder) / "var", **{"RUN_LOST_AFTER_S": "10"} | environment)
        try:
            product.start()
            until(lambda: product.status("/readyz") == 200, "a worker's answer", 600)
            yield product
        finally:
            if product.process:
                product.interrupt()


@contextmanager
def in_this_process(var: Path | None = None, **environment: str) -> Iterator[None]:
    """Set Django up with an empty database, without a broker. Only once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {f"KUBESCHED_{name}": value for name, value in environment.items()}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "KUBESCHED_VAR_DIR": str(var or folder)}
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connection

        logging.disable(logging.WARNING)
        settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
        call_command("migrate", verbosity=0)
        try:
            yield
        finally:
            connection.close()
