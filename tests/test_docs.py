"""Documentation: links, glossary, and the lists of CONTRIBUTING.md."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_core.releases import NEWEST, RELEASES
from scheduler_core.releases.versions import numbered
from scheduler_core.snapshot.wrong_input_hints import KUBECTL

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
TERMS = """scenario, run, cycle, attempt, single pass, virtual time, timepoint, fork, comparison, answer,
ladder, obstacle, suggested fix, experiment, cell, trial, headroom, live class, lesson,
placed, pending, no feasible node, nominated, evicted,
live cluster, follower, gap, decision, report card, never, not now, not asked, move"""
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


def test_the_readme_names_the_oldest_release() -> None:
    assert f"[{min(RELEASES, key=numbered)} or newer](docs/releases.md)" in (ROOT / "README.md").read_text()


def test_the_readme_is_short_and_names_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 80
    assert text.count("![") == 1
    assert re.findall(r"^    make (\w+)", text, re.M) == ["run", "test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snapshots_use_the_command_of_the_home_page(page: Path) -> None:
    commands = re.findall(r"^    (kubectl get nodes.*)", page.read_text(), re.M)
    assert commands in ([], [KUBECTL])


def test_the_glossary_defines_each_term_once() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| [A-Z]", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert rows == re.split(r",\s+", TERMS)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_contributing_names_existing_files(step: str) -> None:
    """The files or their folders exist, and the first file has the names that the step mentions."""
    quoted = re.findall(r"`([^`]+)`", step)
    paths = [name for name in quoted if "/" in name and " " not in name]
    for path in paths:
        assert (ROOT / path).parent.is_dir() if "<" in path else (ROOT / path).exists(), path
    first = ROOT / paths[0]
    if first.is_file():
        names = [name for name in quoted if name not in paths and re.fullmatch(r"\w+", name)]
        assert [name for name in names if not re.search(rf"\b{name}\b", first.read_text())] == []


def test_contributing_has_all_lists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    parts = re.findall(r"^## Add an? (.*)\n((?:(?!## ).*\n)*)", text, re.M)
    lists = {title: len(re.findall(r"^\d+\. ", part, re.M)) for title, part in parts}
    core = {"in-tree plugin": 4, "plugin of scheduler-plugins": 5, "Kubernetes release": 4}
    core["behaviour that patch releases change"] = 4
    pages = {"page": 5, "fact to a page": 6, "websocket": 4, "question of an experiment": 4, "lesson": 3}
    assert lists == {**core, **pages, "benchmark": 2}


PLUGIN = """
import numpy as np
from scheduler_core.api.plugin_args import PluginArgs
from scheduler_core.framework.interface import FilterPlugin, Verdict, unresolvable


class OddNodesArgs(PluginArgs, frozen=True, kw_only=True):
    refused: str = "1"


class OddNodes(FilterPlugin):
    name = "OddNodes"
    args_class = OddNodesArgs

    def filter(self, state, pod):
        odd = np.array([name.endswith(self.args.refused) for name in self.cluster.nodes.names])
        return Verdict.reject(odd, unresolvable("odd"))

    def sign(self, pod):
        return {}
"""
CHECK = """
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, RELEASES
from scheduler_core.simulation import Simulation

names = [name for name, release in RELEASES.items() if "OddNodes" in dict(release.default_plugins)]
print(names, [name for name, release in RELEASES.items() if release.odd_nodes])
nodes = [{"kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"allocatable": {"pods": "9"}}} for i in (1, 2)]
pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "OddNodes"}]}}}]}
(trace,) = Simulation([*nodes, pod], release=NEWEST).run()
print(trace.node, trace.verdicts["OddNodes"].at(0).reasons)
for release in list(RELEASES)[-2:]:
    try:
        print(next(Simulation([*nodes, pod], release=release, config=config).run()).node)
    except InputError as problem:
        print(problem)
"""


def test_the_lists_add_a_working_plugin_and_release(tmp_path: Path) -> None:
    """The test changes a copy of the core."""
    core = tmp_path / "scheduler_core"
    shutil.copytree(ROOT / "scheduler_core", core, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(name: str, old: str, new: str) -> None:
        text = (core / name).read_text()
        assert text.count(old) == 1, old
        (core / name).write_text(text.replace(old, new))

    number = f"1.{int(NEWEST.removeprefix('1.')) + 1}"
    newest, added = (f"V{release.replace('.', '_')}" for release in (NEWEST, number))
    made = f'{added} = _release({newest}, "{number}", default_plugins=(*{newest}.default_plugins, ("OddNodes", 0)))\n\n'
    catalog, field = "releases/catalog.py", f'odd_nodes: bool = on("odd nodes", "even nodes", "none", since="{number}")'
    (core / "plugins" / "odd_nodes.py").write_text(PLUGIN)
    others = "    **dict.fromkeys(sorted(OLD_PLUGINS)"
    edit(catalog, others, f'    "OddNodes": ("{number}", ""),\n{others}')
    edit(catalog, "RELEASES: dict[str, Release]", f"{made}RELEASES: dict[str, Release]")
    edit(catalog, f"{newest}),\n", f"{newest}, {added}),\n")
    edit("releases/behaviors/pod_groups.py", "class PodGroupBehaviors:\n", f"class PodGroupBehaviors:\n    {field}\n")
    run = subprocess.run([sys.executable, "-c", CHECK], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    decided, node, older, newer = run.stdout.splitlines()
    assert decided == f"['{number}'] ['{number}']"
    assert node == "n2 ('odd',)"
    assert f"'OddNodes' is not part of kube-scheduler {NEWEST} (kube-scheduler {number} and newer have it)" in older
    assert newer == "n2"


@pytest.mark.parametrize(
    ("title", "most"), [("An upload", 26), ("A scheduling cycle", 9), ("An event to the page", 16)]
)
def test_a_code_path_names_as_many_files_as_it_claims(title: str, most: int) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    part = text.partition(f"### {title}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    files = re.findall(r"`([\w/]+\.(?:py|js))`", "".join(re.findall(r"^\|.*\n", part, re.M)))
    package = "scheduler_core" if "below `scheduler_core/`" in part else "kubesched_ui"
    paths = [ROOT / file if file.startswith("static/") else ROOT / package / file for file in files]
    assert f"these {len(set(files))} files" in part
    assert len(files) == len(set(files)) <= most
    assert [path for path in paths if not path.is_file()] == []
