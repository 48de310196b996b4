"""The core stands alone: it imports numpy, msgspec, PyYAML and the standard library, and never Django."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ALLOWED = {"numpy", "msgspec", "yaml", "_yaml", "scheduler_core"}
# What those bring along: msgspec looks for typing_extensions, compiled parts of PyYAML register Cython's runtime.
BROUGHT = {"typing_extensions", "cython_runtime"}


MODULES = "scheduler_core, scheduler_core.__main__, scheduler_core.simulation, scheduler_core.cycle.trace"


def test_import_loads_only_the_listed_libraries() -> None:
    program = (
        f"import sys; before = set(sys.modules); import {MODULES}; "
        "names = {m.partition('.')[0] for m in set(sys.modules) - before}; "
        "print(*sorted(n for n in names if n not in sys.stdlib_module_names))"
    )
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert {name for name in out.split() if not name.startswith("_cython_")} <= ALLOWED | BROUGHT
