"""Documentation: links, terms, and the lists of CONTRIBUTING.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kubesched_ui.ingest.wrong_input_hints import KUBECTL
from scheduler_core.framework.interface import FilterPlugin, Verdict, unresolvable
from scheduler_core.plugins import REGISTRY
from scheduler_core.releases import NEWEST, RELEASES, get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
TERMS = """scenario, run, cycle, attempt, single pass, virtual time, timepoint, fork, comparison, suggested fix,
headroom, live class, lesson, placed, pending, no feasible node, nominated, evicted"""
STEPS = re.findall(r"^\d+\. (`.*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.M)


def links(page: Path) -> set[Path]:
    """Return the files that a page links to."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / target).resolve() for target in targets if not re.match(r"\w+:|/", target)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_have_a_target(page: Path) -> None:
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_page_is_reachable_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            waiting += links(page)
    assert {page for page in PAGES if page not in reached} == set()


def test_the_readme_is_short_and_names_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 80
    assert text.count("![") == 1
    assert re.findall(r"^    make (\w+)", text, re.M) == ["run", "test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snapshots_are_taken_with_the_command_of_the_home_page(page: Path) -> None:
    commands = re.findall(r"^    (kubectl get nodes.*)", page.read_text(), re.M)
    assert commands in ([], [KUBECTL])


def test_the_glossary_defines_each_term_once() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| [A-Z]", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert rows == re.split(r",\s+", TERMS)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_contributing_names_what_exists(step: str) -> None:
    """The files exist, or the folders of new ones; the first file has the names that the step mentions."""
    quoted = re.findall(r"`([^`]+)`", step)
    paths = [name for name in quoted if "/" in name and " " not in name]
    for path in paths:
        assert (ROOT / path).parent.is_dir() if "<" in path else (ROOT / path).exists(), path
    first = ROOT / paths[0]
    if first.is_file():
        names = [name for name in quoted if name not in paths and re.fullmatch(r"\w+", name)]
        assert [name for name in names if not re.search(rf"\b{name}\b", first.read_text())] == []


def test_the_lists_of_contributing_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    parts = re.findall(r"## Add an? (.*)\n([^#]*)", text)
    lists = {title: len(re.findall(r"^\d+\. ", part, re.M)) for title, part in parts}
    assert lists == {"in-tree plugin": 4, "Kubernetes release": 4, "page": 4, "lesson": 2}


class OddNodes(FilterPlugin):
    name = "OddNodes"

    def filter(self, state, pod):  # type: ignore[no-untyped-def]
        even = np.array([not name.endswith("1") for name in self.cluster.nodes.names])
        return Verdict.reject(even, unresolvable("even"))


def test_a_plugin_and_a_release_added_as_the_lists_say_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = RELEASES[NEWEST]
    monkeypatch.setitem(REGISTRY, "OddNodes", OddNodes)
    release = replace(newest, name="1.37", default_plugins=(*newest.default_plugins, ("OddNodes", 0)))
    monkeypatch.setitem(RELEASES, "1.37", release)
    objects = [node("n1"), node("n2"), pod("p")]
    (trace,) = Simulation(objects, release=get_release("1.37"), registry=REGISTRY, tie_break="name").run()
    assert trace.node == "n1"
    assert trace.verdicts["OddNodes"].at(1).reasons == ("even",)
