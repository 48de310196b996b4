"""Every YAML, JSON and TOML file of the project has each key once."""

from __future__ import annotations

import gzip
import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.strict_files import EqualKeys, json_value, yaml_document, yaml_documents

ROOT = Path(__file__).parents[1]
READERS: dict[str, Callable[[str], object]] = {
    ".yaml": yaml_documents,
    ".yml": yaml_documents,
    ".json": json_value,
    ".jsonl": lambda text: [json_value(line) for line in text.splitlines()],
    ".toml": tomllib.loads,
}
# Templates are YAML only after rendering: `tests/test_kubernetes_deployment.py` reads what helm makes of them.
TEMPLATES = "deploy/chart/templates/"


def tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name and not name.startswith(TEMPLATES)]


def kind_of(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix


def wrong(names: list[str]) -> list[str]:
    """Return "FILE: PROBLEM" for each file that its strict reader refuses."""
    found = []
    for name in names:
        content = (ROOT / name).read_bytes()
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
        try:
            READERS[kind_of(name)](text)
        except (ValueError, yaml.YAMLError) as problem:
            found.append(f"{name}: {problem}")
    return found


def test_files_have_each_key_once() -> None:
    names = [name for name in tracked() if name.endswith(tuple(READERS))]
    assert {kind_of(name) for name in names} == READERS.keys()
    assert wrong(names) == []


@pytest.mark.long
def test_compressed_files_have_each_key_once() -> None:
    names = [name for name in tracked() if name.endswith(".gz") and kind_of(name) in READERS]
    assert names
    assert wrong(names) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "a: lines 1 and 3"),
        ("services:\n  follow: {}\n  web: {}\n  follow: {}\n", "services.follow: lines 2 and 4"),
        ("a:\n  - b: 1\n    'b': 2\n", r"a\[0\].b: lines 2 and 3"),
        ("a: &a {}\nb:\n  <<: *a\n  <<: *a\n", "b.<<: lines 3 and 4"),
        ("{a: 1, a: 2}", "a: lines 1 and 1"),
        ("a: 1\n---\nb: 1\nb: 1\n", "b: lines 3 and 4"),
    ],
)
def test_equal_keys_of_yaml_are_refused(text: str, message: str) -> None:
    with pytest.raises(EqualKeys, match=message):
        yaml_documents(text)


def test_equal_keys_of_json_are_refused() -> None:
    with pytest.raises(EqualKeys, match="equal keys: b"):
        json_value('{"a": [{"b": 1, "c": 2, "b": 1}]}')
    with pytest.raises(json.JSONDecodeError):
        json_value("{")


def test_keys_may_recur_in_other_mappings() -> None:
    text = "a: {x: 1}\nb: {x: 1, 1: a, '1': b}\n"
    assert yaml_document(text) == {"a": {"x": 1}, "b": {"x": 1, 1: "a", "1": "b"}}
    assert json_value('{"a": {"x": 1}, "b": {"x": 1}}') == {"a": {"x": 1}, "b": {"x": 1}}
