"""Clips of runs: which cycles they contain, their size, hostile names, permissions."""

import base64
import gzip
import html
import re
from typing import Any

import msgspec
import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.views import clip_context
from tests.kubesched_ui.pages import Page
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db
EVIL, SVG = '</script><script>alert("x")</script><!--', "<svg onload=alert(1)>"


class Clip:
    def __init__(self, client: Client, run: Run, query: str = "") -> None:
        self.response = client.get(f"/runs/{run.pk}/clip/{query}")
        assert self.response.status_code == 200, query
        self.source = self.response.content.decode()
        packed = re.search(r'<script type="text/plain" id="data">(.*?)</script>', self.source)
        assert packed
        self.data: dict[str, Any] = msgspec.json.decode(gzip.decompress(base64.b64decode(packed[1])))

    @property
    def covers(self) -> str:
        found = re.search(r"cycles? \d+( to \d+)? of \d+", re.sub(r"\s+", " ", self.source))
        assert found
        return found[0]


@pytest.fixture
def run() -> Run:
    """Return a run of 60 pods on three nodes; the last four do not fit."""
    pods = [pod(f"p{i:02}", "200m") if i < 56 else pod(f"q{i}", "64") for i in range(60)]
    return ran(scenario(*(node(f"n{i}", memory="64Gi") for i in range(3)), *pods))


def test_the_cycles_of_a_clip(client: Client, run: Run) -> None:
    for query, covers, opens in (
        ("?cycle=10", "cycles 5 to 15 of 60", 10),
        ("", "cycles 1 to 6 of 60", 1),
        ("?cycle=10&first=8&last=11", "cycles 8 to 11 of 60", 10),
        ("?cycle=10&first=10&last=10", "cycle 10 of 60", 10),
        ("?cycle=30&first=1&last=60", "cycles 5 to 54 of 60", 30),
        ("?cycle=59&first=1&last=99", "cycles 11 to 60 of 60", 59),
        ("?cycle=999", "cycles 55 to 60 of 60", 60),
        ("?first=20&last=10", "cycle 20 of 60", 20),
        ("?cycle=x&first=-1&last=1e9", "cycles 1 to 6 of 60", 1),
    ):
        clip = Clip(client, run, query)
        assert clip.covers == covers
        first = int(re.findall(r"\d+", covers)[0])
        assert clip.data["focus"]["cycle"] == opens - first + 1
        assert [cycle["number"] for cycle in clip.data["cycles"]] == list(range(1, len(clip.data["cycles"]) + 1))
        assert clip.data["changes"]["cycles"]["number"] == [cycle["number"] for cycle in clip.data["cycles"]]
        assert "attachment" in clip.response["Content-Disposition"]


def test_a_clip_has_the_decisions_as_text_before_any_script_runs(client: Client, run: Run) -> None:
    text = re.sub(r"<[^>]*>|\s+", " ", Clip(client, run, "?cycle=57&first=56&last=58").source)
    flat = html.unescape(re.sub(r"\s+", " ", text))
    for pod_name, where in (("p55", "→ n1"), ("q56", "unschedulable"), ("q57", "unschedulable")):
        assert f"default/{pod_name} {where}" in flat
    assert "NodeResourcesFit: decides against 3 of 3 nodes" in flat
    assert "The pod requests 64 cpu; the largest node has 4." in flat
    ladder = Clip(client, run, "?first=57&last=57").data["cycles"][0]["ladder"]
    assert ladder == [{"changes": None, "each": "is smaller than the request of 64 cpu", "rows": [[0, 2]]}]


def test_pods_and_labels_that_the_clip_does_not_need_are_left_out(client: Client, run: Run) -> None:
    clip = Clip(client, run, "?cycle=57&first=56&last=58")
    placed = {f"default/p{i:02}" for i in range(55)}
    assert set(clip.data["picture"]["pods"]["key"]) == placed | {"default/p55", "default/q56", "default/q57"}
    labels = {"few": ["x"], "many": list(map(str, range(61)))}
    assert [clip_context.may_group(key, values, "") for key, values in labels.items()] == [True, False]
    assert clip_context.may_group("many", labels["many"], "few,many")
    assert clip_context.may_group("node-role.kubernetes.io/worker", labels["many"], "")


def test_a_clip_is_cut_to_its_limit(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, one = (len(Clip(client, run, query).source) for query in ("?cycle=30&first=26&last=34", "?first=30&last=30"))
    monkeypatch.setattr(clip_context, "MOST_BYTES", (whole + one) // 2)
    cut = Clip(client, run, "?cycle=30&first=26&last=34")
    assert len(cut.source) <= (whole + one) // 2
    assert 1 < len(cut.data["cycles"]) < 9
    assert cut.data["cycles"][cut.data["focus"]["cycle"] - 1]["pod"] == "default/p29"
    monkeypatch.setattr(clip_context, "MOST_BYTES", one - 1000)
    refused = client.get(f"/runs/{run.pk}/clip/?cycle=30")
    assert refused.status_code == 413
    assert "too large for a clip" in refused.content.decode()


def test_hostile_names_do_not_leave_their_place(client: Client) -> None:
    taint = {"key": "k", "value": EVIL, "effect": "NoSchedule"}
    nodes = node(SVG, labels={"pool": EVIL}), node("n2", taints=[taint])
    stored = scenario(*nodes, pod(SVG, "64"), pod("fits"), name=EVIL)
    clip = Clip(client, ran(stored, name=EVIL), f"?group={EVIL}&node={EVIL}&colour={EVIL}&point={EVIL}")
    page = Page(clip.response)  # type: ignore[arg-type]
    assert len(page.inline) == 2  # its script and its data
    assert 'alert("x")' not in clip.source
    assert "<svg onload" not in clip.source
    assert {cycle["pod"] for cycle in clip.data["cycles"]} == {f"default/{SVG}", "default/fits"}
    assert clip.data["picture"]["nodes"]["taint_sets"][1] == [f"k={EVIL}:NoSchedule"]


def test_a_run_without_cycles_has_no_clip(client: Client) -> None:
    run = ran(scenario(node("n1")))
    assert client.get(f"/runs/{run.pk}/clip/").status_code == 404
