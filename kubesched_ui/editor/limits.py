"""Size limits of the editor. They are lower than those of uploads, because the text is analysed after every change."""

from kubesched_ui.ingest.limits import Limits

MAX_BYTES = 1_000_000  # size of the text
SMALL = 4_000  # characters; even the slowest text of this size has little effect on other users
MAX_THINGS = 5_000  # objects and documents
MAX_PROBLEMS = 200  # reported problems
MAX_CHANGES = 1_000  # changes per request
MAX_BODY = 3 * MAX_BYTES  # size of a request: the text as JSON, and the changes

LIMITS = Limits(
    max_bytes=MAX_BYTES,
    max_text=MAX_BYTES,
    max_objects=MAX_THINGS,
    max_object_bytes=MAX_BYTES,
    max_alias_chars=100_000,
)
