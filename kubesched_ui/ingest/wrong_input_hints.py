"""Detects common files that are not snapshots, and explains what to upload instead."""

import re

from kubesched_ui.ingest.kinds import SNAPSHOT_KINDS

KUBECTL = f"kubectl get {','.join(SNAPSHOT_KINDS)} -A -o json > cluster.json"
MAX_EXAMINED = 100_000  # bytes that are examined

_COLUMNS = re.compile(rb" {2,}|\t+")
_COLUMN = re.compile(rb"[A-Z][A-Z-]*(?:\([a-z]+\))?%?(?: [A-Z-]+)*\s*")
_DESCRIBED = re.compile(rb"\s*Name:[ \t]+\S+\s*\n(?:\S[^\n]*\n)*?(?:Namespace|Labels|Roles|Priority|Annotations):")
_NAMES = re.compile(rb"\s*(?:[a-z]+(?:\.[a-z0-9.-]+)?/[a-z0-9][a-z0-9.-]*\s*(?:\n|\Z))+\Z")
_ERROR = re.compile(rb"\s*(?:error: |Error from server|Unable to connect to the server|The connection to the server)")
_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.I)
_TRACE = re.compile(rb"\"?(?:applied_objs|trackedObjects)\"?\s*:")
_TEMPLATE = re.compile(rb"\{\{-?\s*(?:\.|/\*|\$|include|if|else|end|range|with|define|template|toYaml|printf|quote)")
_TEMPLATE_LINE = re.compile(rb"^[ \t]*\{\{-?\s*(?:if|end|range|with|include|define|template|toYaml|/\*)", re.M)
_KUBECONFIG = re.compile(rb"^(?:current-context|clusters):", re.M)
_FENCE = re.compile(rb"^ {0,3}```", re.M)
_LINES = re.compile(rb"\s*\{\"run\":\d+,\"kubernetes\":")

LINES = "is a JSON Lines export, which contains no cluster; export the run as a run file instead"
SIMKUBE = f"is a SimKube trace, which is not supported; upload the cluster instead: `{KUBECTL}`"
TEMPLATE = "is a template without values; upload the output of `helm template RELEASE CHART`"
MSGPACK = tuple(bytes([byte]) for byte in (*range(0x80, 0x90), 0xDE))  # first bytes of MessagePack maps


def wrong_input_hint(text: bytes) -> str:
    """Return a phrase that explains what `text` is and what to upload instead; "" if it may be a snapshot."""
    head = text[:MAX_EXAMINED]
    if _ERROR.match(head):
        return f"is an error message of kubectl: {head[:200].decode(errors='replace').strip()}"
    if _PAGE.match(head):
        return f"is a web page; upload the output of `{KUBECTL}`"
    if _DESCRIBED.match(head):
        return f"is the output of `kubectl describe`, which is incomplete; upload the output of `{KUBECTL}`"
    if _is_table(head):
        return f"is a table printed by kubectl; use `-o json`: `{KUBECTL}`"
    if _NAMES.match(head):
        return f"is a list of names; use `-o json` instead of `-o name`: `{KUBECTL}`"
    if _TRACE.search(head) and head.lstrip()[:1] in (b"{", b"v", b"c"):
        return SIMKUBE
    if _LINES.match(head):
        return LINES
    if _TEMPLATE_LINE.search(head):
        return TEMPLATE
    return ""


def _is_table(head: bytes) -> bool:
    """Return whether the first line is a table heading of kubectl: `NAME   STATUS   ROLES`."""
    columns = _COLUMNS.split(head.lstrip()[:1000].partition(b"\n")[0].strip())
    return len(columns) > 1 and all(_COLUMN.fullmatch(column) for column in columns)


def unreadable_input_hint(text: bytes) -> str:
    """Return such a phrase for a text that could not be parsed. These patterns may also occur in a readable text."""
    head = text[:MAX_EXAMINED]
    if _TEMPLATE.search(head):
        return TEMPLATE
    if _FENCE.search(head):
        return "is Markdown; upload only the text between two lines that begin with ```, as YAML or JSON"
    return "is a kubeconfig: it contains credentials, do not upload it" if _KUBECONFIG.search(head) else ""


def is_trace(head: bytes) -> bool:
    """Return whether a file starts like a trace of SimKube: a map in MessagePack."""
    return head.startswith(MSGPACK) and b"trackedObjects" in head
