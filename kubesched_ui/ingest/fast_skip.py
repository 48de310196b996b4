"""Skips YAML files of kinds that are not stored, without parsing. The custom resources of a bundle take minutes."""

import re
from collections.abc import Callable

from kubesched_ui.ingest.events import READ as READ_REASONS
from kubesched_ui.ingest.kinds import KINDS, PRIVATE, lookup, neighbour
from kubesched_ui.ingest.scheduler_configs import may_hold
from scheduler_core.api.scheduler_config import KIND, POLICY

# In block style, only keys of the document itself start in the first column.
_KIND = re.compile(rb"^kind: *([A-Za-z0-9]+)[ \t\r]*$", re.M)
_API_VERSION = re.compile(rb"^apiVersion: *([A-Za-z0-9./-]+)[ \t\r]*$", re.M)
_ITEM = re.compile(rb"^- ", re.M)
_METADATA = re.compile(rb"^metadata:[ \t]*\r?\n((?:[ ]+[^\n]*\n?)+)", re.M)
_FIELD = re.compile(rb"^ {2}(name|namespace): *[\"']?([^\s\"']+)", re.M)
_REASON = re.compile(rb"\breason: *[\"']?(?:%s)\b" % "|".join(sorted(READ_REASONS)).encode())
_AGAIN = re.compile(rb"(?<!\A)^(?:---|\.\.\.)", re.M)
READ = {"", "List", "Scenario", KIND, POLICY}


def can_skip(text: bytes, count: Callable[[str, str, int, str], None]) -> bool:
    """Return whether a text is one YAML document of a kind that is not stored. In this case `count` is called with
    kind, group, number of objects and, of a single object, namespace/name."""
    kinds, versions = _KIND.findall(text), _API_VERSION.findall(text)
    if len(kinds) != 1 or len(versions) != 1 or _AGAIN.search(text):
        return False
    kind, api_version = kinds[0].decode(), versions[0].decode()
    group = api_version.rpartition("/")[0]
    one = kind if kind in KINDS else kind.removesuffix("List")
    if one in READ or not _is_left_out(one, api_version, group, text):
        return False
    number = 1 if one == kind else len(_ITEM.findall(text))
    if number:
        count(one, group, number, _name_of(text) if one == kind else "")
    return True


def _name_of(text: bytes) -> str:
    """Return namespace/name of an object in block style; "" if they are not found."""
    metadata = _METADATA.search(text)
    fields = dict(_FIELD.findall(metadata[1])) if metadata is not None else {}
    name = fields.get(b"name", b"")
    return (fields.get(b"namespace", b"") + b"/" + name).decode(errors="replace") if name else ""


def _is_left_out(kind: str, api_version: str, group: str, text: bytes) -> bool:
    if kind in PRIVATE and not group:
        return not may_hold(text) and neighbour(kind, api_version, _name_of(text)) is None
    known = lookup(kind, api_version)
    if known is not None and known.name == "Event":
        return _REASON.search(text) is None
    return known is None and neighbour(kind, api_version, "") is None
