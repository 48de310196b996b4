"""Subpackages import only from lower layers, and no import runs in a cycle."""

from __future__ import annotations

import pytest

from tests.architecture import import_cycle, imports, layer_violations, modules, subpackage_of

# The subpackages of each layer, lowest first. Add a new subpackage to one of the layers.
LAYERS = {
    "scheduler_core": (
        ("scheduler_core", "errors", "garbage_collection"),
        ("api", "releases", "etcd"),
        ("cluster",),
        ("provenance",),
        ("framework",),
        ("dra", "preemption", "queue"),
        ("plugins", "cycle", "controllers"),
        ("legacy", "pod_groups", "metrics"),
        ("config", "openb"),
        ("simulation", "snapshot", "live"),
        ("virtual_time", "explain", "shadow"),
        ("recording", "messages"),
        ("search", "forks", "evidence"),
        ("compare", "suggestions"),
        ("stations",),
        ("pending_pods", "experiments", "mcp_server"),
        ("commands", "__main__"),
    ),
    "kubesched_ui": (
        ("kubesched_ui", "runtime", "celery"),
        ("settings", "web", "work", "documentation"),
        ("models",),
        ("admin", "templatetags", "accounts", "observability", "offload", "ingest", "event_log"),
        ("backup", "housekeeping", "websockets", "__main__"),
        ("scenarios",),
        ("runs", "presenters"),
        ("queries", "exports", "editor", "experiments"),
        ("upgrades", "clusters", "lessons"),
        ("live_classes", "site_search", "api", "management"),
        ("views", "urls", "asgi"),
    ),
}
# Only modules that Django and the processes look for there are at the root of the application.
ROOT_MODULES = {
    "scheduler_core": {"scheduler_core", "__main__", "errors", "garbage_collection", "simulation"},
    "kubesched_ui": {
        "__main__", "admin", "asgi", "celery", "kubesched_ui", "settings", "urls",
    },
}  # fmt: skip


@pytest.mark.parametrize("package", LAYERS)
def test_every_subpackage_has_a_layer(package: str) -> None:
    subpackages = [subpackage for layer in LAYERS[package] for subpackage in layer]
    assert len(subpackages) == len(set(subpackages))
    assert {subpackage_of(module) for module in modules(package)} == set(subpackages)


@pytest.mark.parametrize("package", LAYERS)
def test_imports_come_from_lower_layers(package: str) -> None:
    assert layer_violations(package, LAYERS[package]) == []


@pytest.mark.parametrize("package", LAYERS)
def test_no_import_runs_in_a_cycle(package: str) -> None:
    # `import a.b` runs a/__init__.py, so that file must not import a module that imports a.b.
    assert import_cycle(imports(package)) == []


def test_an_import_cycle_is_found() -> None:
    assert import_cycle({"a": frozenset({"b"}), "b": frozenset({"a"}), "c": frozenset()})


@pytest.mark.parametrize("package", ROOT_MODULES)
def test_few_modules_are_at_the_root_of_a_package(package: str) -> None:
    files = {subpackage_of(module) for module, file in modules(package).items() if file.parent.name == package}
    assert files == ROOT_MODULES[package]
