"""Hostile uploads: a clear answer, bounded memory, a living process."""

import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_ui.ingest import ingest_files
from tests.examples import selection
from tests.kubesched_ui.ingest.hostile import BROKEN, LIMITS, NODE, POD, REFUSED, answer, listed

pytestmark = pytest.mark.slow

# These are read in a process with 700 MB of address space, which may die.
WORST = [
    name
    for name in REFUSED
    if any(word in name for word in ("100,000", "million", "laughs", "bomb", "zeros", "without end", "30,000", "lies"))
]


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in WORST])
def test_a_hostile_upload_is_rejected(name: str) -> None:
    message = answer(name)
    assert message.startswith("refused: ")
    assert REFUSED[name][2] in message
    assert len(message) < 600
    assert message.isprintable()


LARGEST = [name for name in WORST if "million" in name]


@pytest.mark.parametrize(
    "name",
    [
        *selection([name for name in WORST if name not in LARGEST], 6),
        *(pytest.param(name, marks=pytest.mark.long) for name in LARGEST),
    ],
)
def test_a_hostile_upload_is_rejected_with_little_memory(name: str, checkout: Path) -> None:
    command = [sys.executable, "-m", "tests.kubesched_ui.ingest.hostile", name]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("refused: ")
    assert REFUSED[name][2] in done.stdout
    assert len(done.stdout) < 600


@pytest.mark.parametrize("name", BROKEN)
def test_an_invalid_object_is_left_out_with_a_warning(name: str) -> None:
    raw, wanted = BROKEN[name]
    result = ingest_files([("a.json", listed(NODE, raw))], LIMITS)
    assert result.counts == {"Node": 1}
    (warning,) = result.warnings
    assert warning.code == "broken"
    assert wanted in warning.message
    assert warning.message.startswith("a.json, document 1, item 2")
    assert warning.message.isprintable()


def test_markup_in_a_name_is_stored_as_text() -> None:
    markup = "<img src=x onerror=alert(1)>"
    raw = POD.replace(b'"p"', f'"{markup}"'.encode()) % b"{}"
    result = ingest_files([("a.json", listed(NODE, raw))], LIMITS)
    assert ("Pod", "default", markup) in result.records


def test_a_problem_of_many_objects_gives_one_warning() -> None:
    result = ingest_files([("a.json", listed(NODE, *[b'{"kind":"Pod"}'] * 5000))], LIMITS)
    (warning,) = result.warnings
    assert warning.message.endswith("metadata: is missing (and 4,999 more like it)")


def test_warnings_are_bounded() -> None:
    wrong = [POD % b'{"tolerations":[{"operator":"x%d"}]}' % i for i in range(5000)]
    result = ingest_files([("a.json", listed(NODE, *wrong))], LIMITS)
    assert len(result.warnings) == LIMITS.max_warnings + 1
    assert result.warnings[-1].code == "more"
    assert "4,500 more warnings" in result.warnings[-1].message


def test_unknown_kinds_are_bounded() -> None:
    kinds = [f'{{"kind":"K{i}","apiVersion":"x.io/v1","metadata":{{"name":"a"}}}}'.encode() for i in range(5000)]
    result = ingest_files([("a.json", listed(NODE, *kinds))], LIMITS)
    assert sum(result.unknown.values()) == 5000
    assert len(result.unknown) <= LIMITS.max_warnings + 1
