"""Reads files for the commands of scheduler_core as uploads are read: `kubesched explain FILE`."""

from kubesched_ui.ingest import IngestError, Limits, ingest_files, unsupported_kinds
from kubesched_ui.ingest.preflight import with_effect
from kubesched_ui.ingest.run_file import RunFile
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.snapshot.files import Snapshot


def read_upload(data: bytes, path: str) -> Snapshot:
    """Return the content of a file in any format of docs/formats.md; its configuration is one of the objects.

    Objects that the scheduler core rejects are left out with a note. Raises InputError.
    """
    name = "standard input" if path == "-" else path
    try:
        result = ingest_files([(name, data)], Limits())
    except IngestError as error:
        raise InputError("", "", str(error)) from None
    objects = result.objects
    if result.config:
        objects += [document for document in read_documents(result.config, name) if isinstance(document, dict)]
    more_there, _ = unsupported_kinds.split(result.unknown, result.counts)
    notes = [remark["message"] for remark in more_there]
    notes += [with_effect(warning.code, warning.message) for warning in result.warnings]
    if isinstance(result.run, RunFile):
        notes.append("The run of the run file is ignored; `kubesched ingest` imports it.")
    if result.filled:
        notes.append(result.filled.message)
    return Snapshot(objects, result.kubernetes, notes)
