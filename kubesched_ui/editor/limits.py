"""How much the composer takes: less than an upload, as it is read again with every key."""

from __future__ import annotations

from kubesched_ui.ingest.limits import Limits

MAX_BYTES = 1_000_000  # of the text
SMALL = 4_000  # characters: what the slowest of that size costs is little to whoever else asks
MAX_THINGS = 5_000  # objects and documents
MAX_PROBLEMS = 200  # that are told
MAX_CHANGES = 1_000  # of one request
MAX_BODY = 3 * MAX_BYTES  # of a request: the text as JSON, and what is to be changed

LIMITS = Limits(
    max_bytes=MAX_BYTES,
    max_text=MAX_BYTES,
    max_objects=MAX_THINGS,
    max_object_bytes=MAX_BYTES,
    max_alias_chars=100_000,
)
