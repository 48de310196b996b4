"""The rooms of both packages: imports go down the floors, never up, never in a circle."""

from __future__ import annotations

import pytest

from tests.architecture import circle, imports, modules, room_of, upward

# The rooms of each floor, lowest first. Who opens a new room gives it a floor.
FLOORS = {
    "scheduler_core": (
        ("scheduler_core", "errors"),
        ("api",),
        ("releases",),
        ("config", "cluster"),
        ("provenance",),
        ("framework",),
        ("dra",),
        ("preemption",),
        ("plugins", "cycle", "queue"),
        ("pod_groups", "legacy"),
        ("simulation",),
        ("controllers", "explain"),
        ("snapshot",),
        ("virtual_time",),
        ("debugger",),
        ("commands",),
        ("__main__",),
    ),
    "kubesched_ui": (
        ("env", "kubesched_ui", "paths"),
        ("log_redaction", "celery", "fields", "runtime", "origin_check", "static_files", "outages", "current_viewer"),
        ("request_bodies",),
        ("settings", "middleware", "supervisord_config", "server", "templatetags"),
        ("models",),
        ("observability", "offload"),
        ("accounts",),
        ("admin", "backup", "ingest", "event_log"),
        ("websockets",),
        ("housekeeping",),
        ("scenarios",),
        ("runs",),
        ("presenters",),
        ("exports",),
        ("queries",),
        ("upgrades", "editor"),
        ("lessons",),
        ("live_classes",),
        ("views", "api"),
        ("urls", "asgi", "management", "__main__"),
    ),
}
# At the root of the application are only the modules that Django and the processes look for there.
AT_ROOT = {
    "scheduler_core": {"scheduler_core", "__main__", "errors", "simulation"},
    "kubesched_ui": {
        "__main__", "admin", "asgi", "celery", "current_viewer", "env", "fields", "kubesched_ui", "log_redaction",
        "middleware", "models", "origin_check", "outages", "paths", "request_bodies", "server", "settings",
        "static_files", "supervisord_config", "urls",
    },
}  # fmt: skip


@pytest.mark.parametrize("package", FLOORS)
def test_every_room_has_a_floor(package: str) -> None:
    rooms = [room for floor in FLOORS[package] for room in floor]
    assert len(rooms) == len(set(rooms))
    assert {room_of(module) for module in modules(package)} == set(rooms)


@pytest.mark.parametrize("package", FLOORS)
def test_imports_go_down(package: str) -> None:
    assert upward(package, FLOORS[package]) == []


@pytest.mark.parametrize("package", FLOORS)
def test_no_import_runs_in_a_circle(package: str) -> None:
    # `import a.b` runs a/__init__.py too, which is why that must not import what imports a.b.
    assert circle(imports(package)) == []


def test_a_circle_would_be_found() -> None:
    assert circle({"a": frozenset({"b"}), "b": frozenset({"a"}), "c": frozenset()})


@pytest.mark.parametrize("package", AT_ROOT)
def test_few_modules_are_at_the_root_of_a_package(package: str) -> None:
    files = {room_of(module) for module, file in modules(package).items() if file.parent.name == package}
    assert files == AT_ROOT[package]
