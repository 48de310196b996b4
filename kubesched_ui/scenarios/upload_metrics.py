"""Upload metrics of this process: outcomes, sizes and queue lengths."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from kubesched_ui.ingest import IngestError
from kubesched_ui.observability.metric_sources import Sample, of_this_process
from kubesched_ui.offload.pools import find_pool

ENDS = ("stored", "refused", "failed")

ended: Counter[str] = Counter()
octets = 0
_lock = threading.Lock()


@contextmanager
def count_upload(size: int) -> Iterator[None]:
    """Count an upload of `size` bytes and its outcome, which is known at the end of the `with` block."""
    global octets
    how = "failed"
    try:
        yield
        how = "stored"
    except IngestError:
        how = "refused"
        raise
    finally:
        with _lock:
            ended[how] += 1
            octets += size


def samples() -> Iterator[Sample]:
    """Yield the metrics for Prometheus."""
    for how in ENDS:
        yield Sample("uploads", "Uploads by outcome.", ended[how], {"outcome": how}, counter=True)
    yield Sample("upload_bytes", "Bytes uploaded.", octets, counter=True)
    for line in ("small", "large"):
        if (pool := find_pool(f"{line}-uploads")) is None:
            continue
        of, figures = {"line": line}, pool.figures()
        yield Sample("uploads_waiting", "Uploads waiting for a worker, by queue.", figures["waiting"], of)
        yield Sample("uploads_reading", "Uploads being read, by queue.", figures["running"], of)
        yield Sample("uploads_oldest_seconds", "Longest current wait, in seconds.", figures["longest_wait_s"], of)


of_this_process.append(samples)
