"""Reads uploaded clusters: takes files, and returns Kubernetes objects with warnings about everything unusual.

`ingest_files` (reader.py) is the only entry point and does not depend on Django's models; `store.store` writes its
result to the database. docs/formats.md describes the formats.
"""

from kubesched_ui.ingest.errors import IngestError, Warn
from kubesched_ui.ingest.limits import Limits
from kubesched_ui.ingest.reader import ingest_files
from kubesched_ui.ingest.result import IngestResult, Record

__all__ = ["IngestError", "IngestResult", "Limits", "Record", "Warn", "ingest_files"]
