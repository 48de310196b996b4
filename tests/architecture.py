"""Import graph of the two packages, read from their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def module_of(file: Path) -> str:
    """Return the dotted name of a source file. The name of an `__init__.py` is its package's."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules(package: str) -> Mapping[str, Path]:
    """Return the file of each module of a package, without migrations."""
    return {module_of(file): file for file in sorted((ROOT / package).rglob("*.py")) if "migrations" not in file.parts}


@cache
def imports(package: str) -> Mapping[str, frozenset[str]]:
    """Return the imports of each module within its package: at the top, in functions and for types."""
    known = modules(package)
    return {name: frozenset(_imported(file, known)) - {name} for name, file in known.items()}


def statements(block: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a module and of its blocks. `ast.walk` takes three times as long, for the expressions."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(block, name, ()):
            yield inner
            yield from statements(inner)


def _imported(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for statement in statements(ast.parse(file.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in known)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif statement.module in known:
                    yield statement.module


def subpackage_of(module: str) -> str:
    """Return the subpackage of a module, or the module's own name if it is at the root of the package."""
    return module.split(".")[1] if "." in module else module


def import_cycle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """Return one cycle of imports, or an empty list if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def layer_violations(package: str, layers: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the imports from a higher layer or another subpackage of the same layer. `layers`: lowest first."""
    level = {subpackage: number for number, subpackages in enumerate(layers) for subpackage in subpackages}
    found = []
    for module, wanted in imports(package).items():
        for other in wanted:
            importing, imported = subpackage_of(module), subpackage_of(other)
            if importing != imported and level[imported] >= level[importing]:
                found.append(f"{module} imports {other}")
    return found
