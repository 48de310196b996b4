"""The core stands alone: it imports numpy, msgspec, PyYAML and the standard library, and never Django."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ALLOWED = {"numpy", "msgspec", "yaml", "_yaml", "scheduler_core"}
# What those bring along: msgspec looks for typing_extensions, compiled parts of PyYAML register Cython's runtime.
BROUGHT = {"typing_extensions", "cython_runtime"}


@pytest.mark.parametrize(
    "module", ["scheduler_core", "scheduler_core.__main__", "scheduler_core.simulation", "scheduler_core.cycle.trace"]
)
def test_import_loads_only_the_listed_libraries(module: str) -> None:
    program = (
        f"import sys; before = set(sys.modules); import {module}; "
        "names = {m.partition('.')[0] for m in set(sys.modules) - before}; "
        "print(*sorted(n for n in names if n not in sys.stdlib_module_names))"
    )
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert {name for name in out.split() if not name.startswith("_cython_")} <= ALLOWED | BROUGHT


def test_import_time_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: half a second is meant to be enough for everything."""
    for module in ("scheduler_core", "scheduler_core.simulation", "scheduler_core.cycle.trace"):
        command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()
        took = {name.strip(): int(total) for _, total, name in (line[12:].split("|") for line in lines[1:]) if "|"}
        assert took[module] > 0
        with capsys.disabled():
            print(
                f"\nimport {module}: {took[module] / 1000:.0f} ms (numpy {took.get('numpy', 0) / 1000:.0f} ms)", end=""
            )
    with capsys.disabled():
        print()
