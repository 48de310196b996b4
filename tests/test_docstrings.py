"""Docstrings name exceptions and parameters that exist."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import cache

import pytest
from django import http
from django.db import transaction

from tests.architecture import modules

DOCSTRING = re.compile(r'"""(.*?)"""', re.S)
RAISES = re.compile(r"\b[Rr]aises? ((?:`?[A-Z]\w+`?(?:, | or | and )*)+)")
DESCRIBED = re.compile(r"(?:^|[.\n]\s*)((?:`\w+`(?:, | and )?)+): ")  # `name`: ... or `name`, `name`: ...


@cache
def exceptions() -> set[str]:
    """Return the classes of both packages, and the exceptions of Python and Django."""
    texts = [file.read_text() for package in ("kubesched_ui", "scheduler_core") for file in modules(package).values()]
    found = {name for text in texts for name in re.findall(r"\bclass (\w+)", text)}
    return found | {*dir(builtins), *dir(http), *dir(transaction)}


def wrong_names(source: str) -> Iterator[str]:
    """Yield each exception of a docstring that does not exist, and each described name that the code does not have."""
    words = {*re.findall(r"\w+", DOCSTRING.sub("", source))}
    for text in DOCSTRING.findall(source):
        for names in RAISES.findall(text):
            yield from (name for name in re.findall(r"[A-Z]\w+", names) if name not in exceptions() | words)
        for names in DESCRIBED.findall(text):
            yield from (name for name in re.findall(r"\w+", names) if name not in words)


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core"])
def test_docstrings_name_what_exists(package: str) -> None:
    found = {module: [*wrong_names(file.read_text())] for module, file in modules(package).items()}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Raises NoSuch. `a`: one.", ["NoSuch"]),
        ("Raises InputError or ValueError.", []),
        ("Do it.\n\n    `b`, `a`: two.", ["b"]),
    ],
)
def test_a_wrong_name_is_found(text: str, names: list[str]) -> None:
    assert [*wrong_names(f'def f(a):\n    """{text}"""\n')] == names
