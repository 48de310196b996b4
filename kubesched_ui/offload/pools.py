"""The pools of the web process. They differ only by the data below."""

from __future__ import annotations

import threading

from django.conf import settings

from kubesched_ui.offload.pool import Pool, PoolConfig

MB = 1024 * 1024

_pools: dict[str, Pool] = {}
_lock = threading.Lock()


def configs() -> dict[str, PoolConfig]:
    """Return the limits of every pool as the settings have them."""
    return {
        # Expressions come from strangers and CEL is a C++ library, so these workers have no database and no secrets.
        "search": PoolConfig(
            workers=1,
            memory=1024 * MB,
            seconds=3,
            wait_seconds=10,
            setup="kubesched_ui.queries.search_worker:prepare",
            environment=False,
        ),
        # Texts of the scenario editor.
        "editor": PoolConfig(
            workers=settings.BESIDE_PROCESSES,
            memory=settings.COMPOSE_MAX_MEMORY,
            seconds=settings.COMPOSE_MAX_SECONDS,
            wait_seconds=20,
            setup="kubesched_ui.editor.worker:prepare",
        ),
    }


def get_pool(name: str) -> Pool:
    """Return a pool of this process; its workers start with its first task."""
    with _lock:
        if name not in _pools:
            _pools[name] = Pool(configs()[name])
        return _pools[name]


def find_pool(name: str) -> Pool | None:
    """Return a pool if it was used already."""
    return _pools.get(name)


def stop_pools() -> None:
    """Stop all pools; the next task starts them again with the settings of that time."""
    with _lock:
        for pool in _pools.values():
            pool.stop()
        _pools.clear()
