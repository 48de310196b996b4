"""Finds the scheduler configuration in an input: a document, one of several, an item of a List or a ConfigMap key."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_core.api.scheduler_config import GROUP, KIND, POLICY
from scheduler_core.api.syntax import shown
from scheduler_core.config.configz import configz
from scheduler_core.config.document import read_documents, without_nulls
from scheduler_core.errors import InputError

_MAX_LISTS = 4
_SAYS = re.compile(rf"\bkind[\"']?\s*:\s*[\"']?({KIND}|{POLICY})\b")
_SAYS_QUOTED = re.compile(rf"kind[\\\"']*\s*:\s*[\\\"']*({KIND}|{POLICY})\b".encode())


@dataclass(frozen=True, slots=True)
class FoundConfiguration:
    """A configuration or Policy that was found in an input.

    `place`: the ConfigMap and its key ("" for a separate document). `text`: its text in the ConfigMap.
    """

    raw: dict[str, Any]
    place: str = ""
    text: str = ""

    @property
    def rank(self) -> tuple[bool, bool]:
        """The precedence among several: a configuration before a Policy, a document before a ConfigMap key."""
        return self.raw.get("kind") == KIND, not self.place

    def __str__(self) -> str:
        return self.place or f"a {self.raw['kind']} of its own"


def find(source: str | bytes | Mapping[str, Any]) -> tuple[FoundConfiguration, list[str]]:
    """Return the configuration in `source`, and warnings about its place. Raises InputError if there is none."""
    if isinstance(source, Mapping):
        documents = [without_nulls(dict(source), KIND)]
        if not {"apiVersion", "kind", "data"} & source.keys() and configz(documents[0]) is None:
            documents[0] |= {"apiVersion": f"{GROUP}/v1", "kind": KIND}
    else:
        documents = read_documents(source, KIND)
    everything = [found for document in documents for found in configurations_in(document)]
    if not everything:
        raise InputError(KIND, "", _what_instead(documents))
    found = chosen(everything)
    texts = [f"the configuration was read from {found.place}"] if found.place else []
    return found, texts + ([passed_over(found, everything)] if len(everything) > 1 else [])


def configurations_in(document: Any, lists: int = 0) -> Iterator[FoundConfiguration]:
    """Yield every configuration in a document. Raises InputError for an invalid text in a ConfigMap."""
    if not isinstance(document, Mapping):
        return
    kind = document.get("kind")
    if is_configuration(kind, document.get("apiVersion")):
        yield FoundConfiguration(dict(document))
    elif (shown_configuration := configz(document)) is not None:
        yield FoundConfiguration(shown_configuration)
    elif kind == "ConfigMap" or (kind is None and isinstance(document.get("data"), Mapping)):
        yield from _in_config_map(document)
    elif isinstance(kind, str) and kind.endswith("List") and lists < _MAX_LISTS:
        items = document.get("items")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, Mapping) and "kind" not in item and kind == "ConfigMapList":
                item = {**item, "kind": "ConfigMap"}
            yield from configurations_in(item, lists + 1)


def is_configuration(kind: Any, api_version: Any) -> bool:
    """Whether a document is a scheduler configuration. Other projects also have a kind Policy."""
    ours = api_version in (None, "", "v1") or str(api_version).startswith((f"{GROUP}/", "componentconfig/"))
    return kind == KIND or (kind == POLICY and ours)


def may_hold_bytes(text: bytes | memoryview) -> bool:
    """Whether a text seems to contain a configuration, also one quoted in JSON. The text is not parsed."""
    return _SAYS_QUOTED.search(text) is not None


def _in_config_map(config_map: Mapping[str, Any]) -> Iterator[FoundConfiguration]:
    metadata, data = config_map.get("metadata"), config_map.get("data")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    full = f"{namespace}/{name}" if namespace else str(name or "")
    for key, text in data.items() if isinstance(data, Mapping) else ():
        place = f"ConfigMap {shown(full)} key {shown(str(key))}"
        if isinstance(text, str) and _SAYS.search(text):
            for document in read_documents(text, place):
                if isinstance(document, Mapping) and is_configuration(document.get("kind"), document.get("apiVersion")):
                    yield FoundConfiguration(dict(document), place, text)


def chosen(everything: list[FoundConfiguration]) -> FoundConfiguration:
    """Return the effective configuration among several: the last one of the highest rank."""
    return max(enumerate(everything), key=lambda entry: (entry[1].rank, entry[0]))[1]


def passed_over(found: FoundConfiguration, everything: list[FoundConfiguration]) -> str:
    """Return a sentence about the other configurations."""
    others = [str(other) for other in everything if other is not found]
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    return f"of {len(everything)} configurations {found} counts; left out: {', '.join(others[:5])}{more}"


def _what_instead(documents: list[Any]) -> str:
    if not documents:
        return "the text is empty"
    first = documents[0]
    if not isinstance(first, dict):
        return f"must be an object of kind {KIND}, got a {'list' if isinstance(first, list) else 'plain value'}"
    if "actions" in first and "tiers" in first:
        return f"must be an object of kind {KIND}, got a configuration of Volcano's scheduler or of KAI's"
    if "partitions" in first and "kind" not in first:
        return f"must be an object of kind {KIND}, got the queues of YuniKorn"
    if "kind" not in first:
        known = sorted({"profiles", "extenders", "leaderElection"} & first.keys())
        begin = f"; begin it with apiVersion: {GROUP}/v1 and kind: {KIND}" if known else ""
        return f"must be an object of kind {KIND}, got one without a kind{begin}"
    what = f"a {shown(str(first['kind']))}"
    holds_none = first["kind"] == "ConfigMap" or str(first["kind"]).endswith("List")
    return f"must be an object of kind {KIND}, got {what}" + (" without such an object in it" if holds_none else "")
