"""Reading uploaded clusters: files in, Kubernetes objects out, with everything that was odd about them said.

`ingest_files` (reader.py) is the one way in and knows nothing of Django's models; `store.store` puts its result into
the database. The formats are described in docs/formats.md.
"""

from kubesched_ui.ingest.errors import IngestError, Warn
from kubesched_ui.ingest.limits import Limits
from kubesched_ui.ingest.reader import ingest_files
from kubesched_ui.ingest.result import IngestResult, Record

__all__ = ["IngestError", "IngestResult", "Limits", "Record", "Warn", "ingest_files"]
