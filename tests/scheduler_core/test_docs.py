"""The documentation agrees with the code: every plugin, extension point and argument, and the examples."""

import re
import sys
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.framework.interface import Status
from scheduler_core.plugins import PLUGINS, REGISTRY, known_plugins
from scheduler_core.releases import FRAMEWORK

DOCS = Path(__file__).parents[2] / "docs"


def sections(page="plugins.md"):
    """Return heading -> text below it, of a page of the documentation."""
    parts = re.split(r"^## +(.+)$", (DOCS / page).read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def test_headings_and_plugins_agree():
    assert set(sections()) == set(REGISTRY)


def test_every_plugin_of_scheduler_plugins_is_described():
    assert set(sections("scheduler-plugins.md")) == set(PLUGINS) - set(REGISTRY)


@pytest.mark.parametrize("name", PLUGINS)
def test_every_extension_point_is_described(name):
    text = sections("plugins.md" if name in REGISTRY else "scheduler-plugins.md")[name]
    described = set(re.findall(r"^\* \*\*(\w+)\*\*", text, flags=re.M))
    assert described == {point[0].upper() + point[1:] for point in known_plugins(PLUGINS)[name].points}


@pytest.mark.parametrize("name", [name for name, plugin in REGISTRY.items() if plugin.args_class])
def test_every_argument_is_described(name):
    fields = {camel(field) for field in REGISTRY[name].args_class.__struct_fields__}
    described = set(re.findall(r"^\| `(\w+)`", sections()[name], flags=re.M))
    assert described == fields


def absent(text, release):
    """Return whether «Not part of 1.27», «1.35 and older» or «1.34 and newer» covers the release."""
    number, compare = int(release.split(".")[1]), {"": int.__eq__, " and older": int.__le__, " and newer": int.__ge__}
    found = re.findall(r"Not part of 1\.(\d+)( and (?:older|newer))?", text)
    return any(compare[rest](number, int(minor)) for minor, rest in found)


@pytest.mark.parametrize("name", REGISTRY)
def test_default_weights_and_releases_are_documented(name):
    text = sections()[name]
    for release in FRAMEWORK.values():
        weights = dict(release.default_plugins)
        if name not in weights:
            assert "o release enables it by default" in text or absent(text, release.name)
        elif weights[name]:
            assert f"weight {weights[name]}" in text


def test_every_message_of_a_filter_is_documented():
    """Reasons that plugins define as constants are in their section."""
    for name, cls in REGISTRY.items():
        statuses = [value for value in vars(sys.modules[cls.__module__]).values() if isinstance(value, Status)]
        assert {reason for status in statuses for reason in status.reasons if reason not in sections()[name]} == set()


@pytest.mark.parametrize("example", ["per_node_plugin.py", "columnar_plugin.py"])
def test_examples_are_shown_unchanged(example):
    assert (DOCS / "examples" / example).read_text() in (DOCS / "writing-plugins.md").read_text()


def test_the_shown_explanation_is_the_output_of_the_command(capsys):
    assert main(["explain", str(DOCS / "examples" / "snapshot.yaml")]) == 1
    assert capsys.readouterr().out in (DOCS / "explain.md").read_text()
