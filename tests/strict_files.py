"""Readers of YAML and JSON that refuse equal keys, which Compose, Kubernetes and YAML 1.2 do not allow either.

PyYAML and the standard library keep the last of equal keys. `tomllib` refuses them by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml


class EqualKeys(ValueError):
    """Raised for a mapping that has a key twice. The message names the key and its place."""


def yaml_documents(text: str) -> list[Any]:
    """Return the documents of a YAML text. Raises EqualKeys, or yaml.YAMLError for text that is not YAML."""
    for document in yaml.compose_all(text, Loader=yaml.CSafeLoader):
        for found in _equal_keys(document, ""):
            raise EqualKeys(found)
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def yaml_document(text: str) -> Any:
    """Return the only document of a YAML text. Raises as `yaml_documents` does, and ValueError for several."""
    (document,) = yaml_documents(text)
    return document


def json_value(text: str) -> Any:
    """Return the value of a JSON text. Raises EqualKeys, or json.JSONDecodeError for text that is not JSON."""
    return json.loads(text, object_pairs_hook=_unequal)


def _equal_keys(node: yaml.Node | None, path: str) -> Iterator[str]:
    """Yield "PATH.KEY: lines N and M" for each key that its mapping has twice."""
    if isinstance(node, yaml.MappingNode):
        lines: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            place = f"{path}.{key.value}" if path else str(key.value)
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                if first := lines.get((key.tag, key.value)):
                    yield f"{place}: lines {first} and {line}"
                lines[key.tag, key.value] = line
            yield from _equal_keys(value, place)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _equal_keys(value, f"{path}[{index}]")


def _unequal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise EqualKeys(f"equal keys: {', '.join(sorted(key for key in value if keys.count(key) > 1))}")
    return value
