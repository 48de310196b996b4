"""The core stands alone: it imports numpy, msgspec, PyYAML and the standard library, and never Django."""

import subprocess
import sys

ALLOWED = {"numpy", "msgspec", "yaml", "_yaml", "scheduler_core"}


def test_import_loads_only_the_listed_libraries() -> None:
    program = (
        "import sys; before = set(sys.modules); import scheduler_core.__main__; "
        "names = {m.partition('.')[0] for m in set(sys.modules) - before}; "
        "print(*sorted(n for n in names if n not in sys.stdlib_module_names))"
    )
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert set(out.split()) <= ALLOWED
