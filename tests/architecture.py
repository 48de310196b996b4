"""Who imports whom, read from the sources: modules, the rooms they are in, circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def module_of(file: Path) -> str:
    """The dotted name of a source file; of an __init__.py, its package's."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules(package: str) -> Mapping[str, Path]:
    """Module -> file, of everything in a package but migrations."""
    return {module_of(file): file for file in sorted((ROOT / package).rglob("*.py")) if "migrations" not in file.parts}


@cache
def imports(package: str) -> Mapping[str, frozenset[str]]:
    """Module -> the modules of the same package that it imports, wherever: at the top, in functions, for types."""
    known = modules(package)
    return {name: frozenset(_imported(file, known)) - {name} for name, file in known.items()}


def _imported(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for statement in ast.walk(ast.parse(file.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in known)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif statement.module in known:
                    yield statement.module


def room_of(module: str) -> str:
    """The room a module is in: the folder below its package, or its own name where it stands at the root."""
    return module.split(".")[1] if "." in module else module


def circle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """Some circle of imports; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def upward(package: str, floors: tuple[tuple[str, ...], ...]) -> list[str]:
    """Imports that go up, or across to another room of the same floor. `floors`: the rooms of each, lowest first."""
    level = {room: number for number, rooms in enumerate(floors) for room in rooms}
    found = []
    for module, wanted in imports(package).items():
        for other in wanted:
            mine, its = room_of(module), room_of(other)
            if mine != its and level[its] >= level[mine]:
                found.append(f"{module} imports {other}")
    return found
