"""A cluster behind `kubectl get --raw`, without kubectl: pages, refusals and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from scheduler_core.commands.kubectl.raw_requests import RawResponse
from scheduler_core.live.kinds import KINDS

Raw = dict[str, Any]


class FakeTransport:
    """Serves objects. `refused`: kinds answered with 403. `expire`: lists whose first continue token has expired."""

    def __init__(self, objects: Iterable[Raw], refused: Iterable[str] = (), expire: Iterable[str] = ()) -> None:
        self.refused = set(refused)
        self.expire = set(expire)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.lists: dict[str, list[Raw]] = {kind.path: [] for kind in KINDS.values()}
        self.context_namespace = "default"
        paths = {kind.kind: kind.path for kind in KINDS.values()}
        for number, raw in enumerate(objects, 1):
            metadata = {"resourceVersion": str(number), **raw["metadata"]}
            kind = raw["kind"] if raw["kind"] != "PodGroup" else f"PodGroup.{raw['apiVersion'].partition('/')[0]}"
            self.lists[paths.get(kind, paths.get(raw["kind"], ""))].append({**raw, "metadata": metadata})

    @asynccontextmanager
    async def get(
        self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0
    ) -> AsyncIterator[RawResponse]:
        """Answer a request."""
        self.requests.append((path, dict(query)))
        yield self._answer(path, query)

    def _answer(self, path: str, query: Mapping[str, str]) -> RawResponse:
        if path == "/version":
            return RawResponse(200, b'{"gitVersion": "v1.36.2", "major": "1", "minor": "36"}')
        kind = next((kind for kind in KINDS.values() if kind.path == path), None)
        if kind is None:
            namespace = path.split("/")[4] if "/namespaces/" in path else ""
            whole = path.replace(f"/namespaces/{namespace}", "") if namespace else ""
            if whole not in self.lists:
                return RawResponse(404)
            return self._page([one for one in self.lists[whole] if one["metadata"].get("namespace") == namespace], {})
        if kind.kind in self.refused:
            return RawResponse(403)
        if query.get("continue") and kind.kind in self.expire:
            self.expire.discard(kind.kind)
            return RawResponse(410)
        return self._page(self.lists[path], query)

    @staticmethod
    def _page(objects: list[Raw], query: Mapping[str, str]) -> RawResponse:
        start, size = int(query.get("continue", "0")), int(query.get("limit", "500"))
        end = start + size
        metadata = {"resourceVersion": "1000", **({"continue": str(end)} if end < len(objects) else {})}
        return RawResponse(200, json.dumps({"metadata": metadata, "items": objects[start:end]}).encode())

    async def namespace(self) -> str:
        return self.context_namespace

    async def close(self) -> None:
        """Do nothing."""
