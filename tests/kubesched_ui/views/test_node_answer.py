"""Why-not page of a pod and a node: first the reason, then grouped fixes; sentences link to what decided."""

import html
import re

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.templatetags.ui import sentence
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db
DEDICATED = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.fixture
def run() -> Run:
    full = pod("old", "2", nodeName="n2")
    return ran(scenario(node("n1"), node("n2"), node("n3", taints=[DEDICATED]), full, pod("web"), pod("big", "9")))


def links(client: Client, address: str, start: str, end: str = "</p>") -> dict[str, str]:
    """Return text -> URL of the links in a part of a page."""
    part = get(client, address).flat.partition(start)[2].partition(end)[0]
    return {text: html.unescape(href) for href, text in re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', part)}


def test_the_reason_is_first_with_fixes(client: Client, run: Run) -> None:
    base = f"/runs/{run.pk}/pods/default/web/"
    found = get(client, f"{base}why/?node=n3").flat
    assert re.search(r"Why not n3\?.*n3</a> could take the pod after one change: .*dedicated=db", found)
    assert "How to place it on n3" in found
    assert "Prove it" in found.partition("How to place it on n3")[2]
    assert links(client, f"{base}why/?node=n3", 'class="answer">') == {
        "has the untolerated taint dedicated=db:NoSchedule": (
            f"{base}?cycle=1&point=filter&plugin=TaintToleration&node=n3"
        ),
        "n3": f"/runs/{run.pk}/nodes/n3/",
    }
    found = get(client, f"{base}why/?cycle=1&node=n2").flat
    assert re.search(r"</a> fits, but it is not the emptiest: <a [^>]*>n1</a> is [\d,]+ ahead of ", found)
    assert "<h3>n1 against n2</h3>" in found
    assert "point=weighted&amp;plugin=NodeResourcesFit&amp;node=n2" in found
    assert "Why n1?" in get(client, f"{base}why/?node=n1").flat
    assert "does not exist" in get(client, f"{base}why/?node=n9").flat


def test_sentences_of_the_pod_page_link_to_what_decided(client: Client, run: Run) -> None:
    big = f"/runs/{run.pk}/pods/default/big/"
    assert links(client, big, 'class="answer">')["cpu"] == f"{big}?cycle=2&point=filter&plugin=NodeResourcesFit"
    message = links(client, big, "<blockquote>", "</blockquote>")
    assert message["Insufficient cpu"] == f"{big}?cycle=2&point=filter&plugin=NodeResourcesFit"
    web = f"/runs/{run.pk}/pods/default/web/"
    answer = links(client, web, 'class="answer">')
    assert answer["n1"] == f"/runs/{run.pk}/nodes/n1/"
    assert f"{web}?cycle=1&point=score&plugin=NodeResourcesFit" in answer.values()


def test_each_reason_on_a_node_page_links_to_its_verdict(client: Client, run: Run) -> None:
    answer = get(client, f"/runs/{run.pk}/nodes/n3/").flat.partition('id="pod-verdicts"')[2]
    addresses = [html.unescape(found) for found in re.findall(r'<a data-plain href="([^"]*point=[^"]*)"', answer)]
    assert addresses == [
        f"/runs/{run.pk}/pods/default/web/?cycle=1&point=filter&plugin=TaintToleration&node=n3",
        f"/runs/{run.pk}/pods/default/big/?cycle=2&point=filter&plugin=TaintToleration&node=n3",
    ]
    assert (
        f"/runs/{run.pk}/pods/default/web/why/?cycle=1&amp;node=n2" in get(client, f"/runs/{run.pk}/nodes/n2/").source
    )


def test_a_sentence_is_escaped_and_links_whole_words_only() -> None:
    class Link:
        text, address, point, plugin = "n1", "/x?a=1&b=2", "filter", ""

    assert sentence({}, "<b> n1, n10 and n1-a, in n1.", [Link]) == (
        '&lt;b&gt; <a href="/x?a=1&amp;b=2" data-open="filter">n1</a>, n10 and n1-a, in '
        '<a href="/x?a=1&amp;b=2" data-open="filter">n1</a>.'
    )
    assert sentence({"read_only": True}, "n1", [Link]) == "n1"


def test_the_map_of_a_placed_pod_asks_why_not_elsewhere(client: Client, run: Run) -> None:
    placed, pending = (get(client, f"/runs/{run.pk}/pods/default/{name}/").flat for name in ("web", "big"))
    for page, shown in ((placed, 'data-cycle="1"'), (pending, 'data-cycle="2" data-at-end')):
        assert f'data-src="/api/runs/{run.pk}" data-pods="/runs/{run.pk}/pods/"' in page
        assert f'{shown} aria-labelledby="t-pod-map"' in page
    assert '<input type="hidden" name="cycle" value="1">' in placed
    assert 'class="why-not"' in pending
