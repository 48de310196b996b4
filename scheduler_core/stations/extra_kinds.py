"""The kinds that only waits are read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler_core.api.objects import KINDS, Object, check_metadata, convert, describe
from scheduler_core.live.kinds import recorded_kind
from scheduler_core.live.objects import TYPES
from scheduler_core.snapshot.stored_objects import MAKERS

EXTRA = frozenset(TYPES) - frozenset(KINDS)
NOT_SIMULATED = EXTRA - frozenset(MAKERS)
LONGEST_ANNOTATION = 1_000  # characters; annotations that are read are names
LONGEST_TEXT = 8_000  # characters of any other text than the state of cluster-autoscaler


def extra_kind(raw: Mapping[str, Any]) -> str:
    """Return the kind of an undecoded object if only waits are read from it; "" for others."""
    kind = "Event" if raw.get("kind") == "Event" else recorded_kind(raw)
    return kind if kind in EXTRA else ""


def decoded(kind: str, text: bytes) -> Object | None:
    """Return an object of one of these kinds from its stored JSON; None if an earlier version stored it with errors."""
    try:
        return msgspec.json.decode(text, type=TYPES[kind])
    except msgspec.MsgspecError:
        return None


def read_fields(raw: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the part of an undecoded object that answers about waits read. `kind`: as of `extra_kind`. Long
    annotations are left out, other long texts are cut. Raises InputError."""
    where = describe(raw)
    obj = convert(raw, TYPES[kind], where)
    check_metadata(obj, where)
    annotations = obj.metadata.annotations
    obj.metadata.annotations = {key: text for key, text in annotations.items() if len(text) <= LONGEST_ANNOTATION}
    found: dict[str, Any] = msgspec.to_builtins(obj)
    return found if kind == "ConfigMap" else _cut(found)


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_cut(element) for element in value]
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
