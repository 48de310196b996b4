"""Libraries of the core, one file per plugin, and the default plugins of the releases."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_core.framework.interface import POINTS
from scheduler_core.plugins import REGISTRY
from scheduler_core.releases import FRAMEWORK
from scheduler_core.releases.feature_gates import GATES
from tests.architecture import statements

ROOT = Path(__file__).parents[2]
CORE = ROOT / "scheduler_core"
LIBRARIES = {"numpy", "msgspec", "isal", "yaml", "cel_expr_python", "scheduler_core"}
# Only these files need these libraries; other processes never import them.
FILE_LIBRARIES = {
    "experiments/linear_program.py": {"highspy"},
    "experiments/tune.py": {"optuna"},
    "live/aiohttp_transport.py": {"aiohttp", "yarl"},
    "live/kubeconfig_credentials.py": {"aiohttp", "kubernetes_asyncio"},
    "mcp_server/server.py": {"mcp"},
}

# In upstream these three are in one file: noncsi.go.
SHARED_FILES = dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), "non_csi_limits")


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere in it."""
    for statement in statements(ast.parse(file.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            assert not statement.level, f"{file}: relative import"
            yield statement.module or ""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def test_the_core_imports_only_its_libraries_and_itself() -> None:
    for file in CORE.rglob("*.py"):
        tops = {name.partition(".")[0] for name in imported(file)}
        allowed = LIBRARIES | FILE_LIBRARIES.get(str(file.relative_to(CORE)), set())
        assert tops - sys.stdlib_module_names <= allowed, file


@pytest.mark.slow
def test_importing_the_core_loads_only_the_listed_libraries() -> None:
    """Including their own imports: msgspec looks for typing_extensions, compiled PyYAML registers Cython's runtime."""
    modules = "scheduler_core.__main__, scheduler_core.simulation, scheduler_core.cycle.trace"
    program = f"import sys; before = set(sys.modules); import {modules}; print(*set(sys.modules) - before)"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    tops = {name.partition(".")[0] for name in out.split()} - sys.stdlib_module_names
    allowed = LIBRARIES - {"cel_expr_python"} | {"_yaml", "typing_extensions", "cython_runtime"}
    assert {name for name in tops if not name.startswith("_cython_")} <= allowed


@pytest.mark.parametrize("name", REGISTRY)
def test_every_plugin_has_its_own_file_named_after_upstreams(name: str) -> None:
    cls = REGISTRY[name]
    assert cls.name == name
    expected = SHARED_FILES.get(name) or snake(name)
    assert cls.__module__ == f"scheduler_core.plugins.{expected}"
    inside = [other for other, made in REGISTRY.items() if made.__module__ == cls.__module__]
    assert inside == [name] or set(inside) == set(SHARED_FILES)
    text = (CORE / "plugins" / f"{expected}.py").read_text()
    assert re.search(r"^Upstream[^:\n]*: .*pkg/scheduler/framework/plugins", text, re.M), "says where it comes from"
    assert issubclass(cls, tuple(POINTS.values()))


@pytest.mark.parametrize("release", FRAMEWORK)
def test_every_default_plugin_of_a_release_exists(release: str) -> None:
    made = FRAMEWORK[release]
    assert {name for name, _ in made.default_plugins} <= set(REGISTRY)
    for points in made.default_points.values():
        assert set(points) <= set(POINTS)
        for point, plugins in points.items():
            for name, _ in plugins:
                assert issubclass(REGISTRY[name], POINTS[point]), f"{name} at {point}"
    assert not set(made.removed_plugins) & {name for name, _ in made.default_plugins}


def test_every_registered_plugin_is_a_default_of_some_release_or_gate() -> None:
    gated = {name for gate in GATES.values() for name, _ in gate.plugins}
    default = {name for release in FRAMEWORK.values() for name, _ in release.default_plugins}
    opt_in = {name for name, plugin in REGISTRY.items() if plugin.opt_in}
    assert opt_in | gated | default == set(REGISTRY)
    assert not opt_in & (gated | default)
