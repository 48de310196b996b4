"""Cluster preview of a class: bounded for any number of nodes and pods, with the verdicts of the attempt."""

import numpy as np
import pytest
from django.urls import reverse

from kubesched_ui.exports.slides import of_cycle
from kubesched_ui.live_classes import cluster_preview
from kubesched_ui.live_classes.cluster_preview import Verdicts, card, counts, drawn
from kubesched_ui.scenarios.cluster_overview import ZONES, NodeLine, PodLine
from scheduler_core.cluster.resources import CPU, MEMORY
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.matrix import matrix_of
from scheduler_core.framework.interface import UNSCHEDULABLE, Status, Verdict
from tests.kubesched_ui.recordings import node, pod, ran, scenario

GI = 2**30


def cluster(number: int, zones: int = 2, pods: int = 3) -> list[NodeLine]:
    on = [PodLine(f"a/p{one}", requests={CPU: 100, MEMORY: GI}) for one in range(pods)]
    return [
        NodeLine(f"n{one}", {CPU: 4000, MEMORY: 8 * GI}, {ZONES[0]: f"z{one % zones}"}, pods=on)
        for one in range(number)
    ]


def verdicts(nodes: list[NodeLine]) -> Verdicts:
    """Return verdicts in which every second node rejects the pod and n1 is selected."""
    names = [one.name for one in nodes]
    refuses = np.arange(len(nodes)) % 2 == 0
    verdict = Verdict.reject(refuses, Status(UNSCHEDULABLE, ("<b>no</b>",)))
    trace = CycleTrace("a/p", nodes=len(nodes), verdicts={"NodeAffinity": verdict}, node="n1", selected_row=1)
    trace.feasible = np.flatnonzero(~refuses)
    found = matrix_of(trace, names)
    slides = of_cycle(trace, found, None)
    return Verdicts(slides, len(slides) - 1, found, trace, names, None)


def test_few_nodes_show_their_pods_and_reasons() -> None:
    nodes = cluster(4, pods=200)
    shelf = drawn(nodes, {CPU: 1000}, verdicts(nodes))
    assert shelf.named
    assert {len(bar.blocks) for bar in shelf.bars} == {cluster_preview.PODS + 1}
    assert shelf.bars[0].blocks[-1].pod == "160 pods"
    assert [(v.mark, v.text) for v in shelf.bars][:2] == [("out", "NodeAffinity"), ("chosen", "chosen")]


def test_many_nodes_are_squares_with_a_tooltip() -> None:
    nodes = cluster(600, pods=50)
    shelf = drawn(nodes, {CPU: 1000}, verdicts(nodes))
    assert not shelf.named
    assert len(shelf.bars) == 600
    assert {len(bar.blocks) for bar in shelf.bars} == {1}
    assert [(one.mark, one.words, one.number) for one in counts(shelf)] == [
        ("chosen", "chosen", 1),
        ("fits", "fit the pod", 299),
        ("out", "out: NodeAffinity", 300),
    ]


def test_very_many_nodes_are_grouped_by_zone_and_verdict() -> None:
    nodes = cluster(5000, zones=3)
    shelf = drawn(nodes, {CPU: 1000}, verdicts(nodes))
    assert shelf.named
    assert shelf.more == 0
    assert len(shelf.bars) == 7
    assert sum(1 if v.name == "n1" else int(v.name.split()[0].replace(",", "")) for v in shelf.bars) == 5000
    assert {v.mark for v in shelf.bars} == {"chosen", "fits", "out"}
    out = next(v for v in shelf.bars if v.mark == "out")
    assert out.text.startswith("NodeAffinity 8")
    assert sum(block.height for block in out.blocks) == pytest.approx(100 * 3 * 100 / 4000)


def test_many_zones_are_grouped() -> None:
    nodes = cluster(2000, zones=700)
    shelf = drawn(nodes, None, None)
    assert [v.name for v in shelf.bars] == ["2,000 nodes"]


@pytest.mark.django_db
def test_a_node_card_shows_the_moment_of_the_attempt() -> None:
    run = ran(scenario(node("n1"), node("n2"), pod("a", cpu="3"), pod("b", cpu="3"), pod("big", cpu="64")))
    page = reverse("run", args=[run.pk])
    first, second, end = (card(run, f"{page}{query}") for query in ("?cycle=1", "?cycle=2", ""))
    assert first.count("4 of 4 free") == 2
    assert second.count("4 of 4 free") == 1
    assert "Cycle 1 of 3" in first
    assert 'class="capacity-bar chosen"' in second
    assert "is tried" not in end
    assert end.count("1 of 4 free") == 2
    pending = card(run, reverse("pod", args=[run.pk, "default", "big"]))
    assert pending.count('class="capacity-bar out"') == 2
    at_plugin = card(run, f"{reverse('pod', args=[run.pk, 'default', 'big'])}?point=filter&plugin=NodeResourcesFit")
    assert 'class="capacity-bar refused"' in at_plugin
    assert "Insufficient cpu" in at_plugin
    for odd in ("?cycle=99", "?cycle=x", "?t=nan", "?seq=-5", "?t=1e400", "?seq=" + "9" * 30, "?t=x&cycle="):
        assert "<script" not in card(run, f"{page}{odd}")
    assert card(run, reverse("pod", args=[run.pk, "default", "none"])) == ""


@pytest.mark.django_db
def test_names_in_a_cluster_are_escaped() -> None:
    hostile = node("n1", taints=[{"key": "a", "value": "<script>alert(1)</script>", "effect": "NoSchedule"}])
    hostile["metadata"]["labels"] = {"topology.kubernetes.io/zone": "<img src=x onerror=alert(1)>"}
    run = ran(scenario(hostile, pod("a")))
    html = card(run, reverse("pod", args=[run.pk, "default", "a"]))
    assert "<script>alert" not in html
    assert "<img" not in html
