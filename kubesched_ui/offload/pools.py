"""The pools of the web process. They differ only by the data below."""

import threading
from dataclasses import replace

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

from kubesched_ui.offload.pool import Pool, PoolConfig

MB = 1024 * 1024

_pools: dict[str, Pool] = {}
_lock = threading.Lock()


def configs() -> dict[str, PoolConfig]:
    """Return the limits of every pool by the current settings."""
    requests = PoolConfig(
        workers=settings.OFFLOAD_PROCESSES,
        memory=settings.OFFLOAD_MAX_MEMORY,
        seconds=settings.OFFLOAD_MAX_SECONDS,
        wait_seconds=60,
        setup="kubesched_ui.offload.request_worker:prepare",
        setup_args=(dict(getattr(staticfiles_storage, "hashed_files", {})),),
    )
    uploads = PoolConfig(
        workers=1,
        memory=settings.INGEST_MAX_MEMORY,
        seconds=settings.INGEST_MAX_SECONDS,
        memory_kept=300 * MB,
        setup="kubesched_ui.scenarios.upload_worker:prepare",
    )
    return {
        # Any user may write expressions, and CEL is a C++ library, so these workers have no database access and no
        # secrets.
        "search": PoolConfig(
            workers=1,
            memory=1024 * MB,
            seconds=3,
            wait_seconds=10,
            setup="kubesched_ui.queries.search_worker:prepare",
            environment=False,
        ),
        "small-uploads": uploads,
        # Pages, small uploads and runs have priority over large uploads.
        "large-uploads": replace(uploads, workers=max(1, settings.INGEST_READERS), nice=5),
        # Pages and API responses that search, replay a run or decode a whole recording.
        "requests": requests,
        # A timeout applies to each part, and one user leaves workers to others. A worker waits for its client only if
        # the export is larger than its spool.
        "exports": replace(
            requests,
            workers=2 * settings.OFFLOAD_PROCESSES,
            seconds=None,
            running_per_user=max(1, settings.OFFLOAD_PROCESSES // 2),
        ),
        # Lessons that users write.
        "lessons": replace(
            requests,
            workers=1,
            memory=settings.OFFLOAD_MAX_MEMORY // 2,
            seconds=settings.COMPOSE_MAX_SECONDS,
            wait_seconds=20,
        ),
        # Texts of the scenario editor.
        "editor": PoolConfig(
            workers=settings.OFFLOAD_PROCESSES,
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
    """Return a pool if it has been used."""
    return _pools.get(name)


def stop_pools() -> None:
    """Stop all pools. The next task starts them again with the settings at that time."""
    with _lock:
        for pool in _pools.values():
            pool.stop()
        _pools.clear()
