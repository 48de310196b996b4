"""The page and the API operation that explain pasted messages of FailedScheduling."""

import html
from typing import Any

import pytest
from django.test import Client

from tests.kubesched_ui.pages import Page, get
from tests.scheduler_core.messages.public_messages import MESSAGES
from tests.scheduler_core.messages.test_message import CPU, DESCRIBED

pytestmark = pytest.mark.django_db
EVIL = "0/2 nodes are available: 1 <script>alert(1)</script>, 1 <img src=x onerror=alert(1)>\u202e\x1b."


def post(client: Client, text: str, status: int = 200) -> Page:
    answer: Any = client.post("/message/", {"text": text})
    assert answer.status_code == status
    return Page(answer)


def test_a_message_is_explained(client: Client) -> None:
    page = post(client, DESCRIBED)
    text = html.unescape(page.flat)
    assert "None of 5 nodes takes the pod: 3 lack cpu; 2 are cordoned." in text
    assert 'style="width: 60.00%"' in text
    assert "kubectl describe pod web-0 -n shop" in text
    assert 'href="/#upload"' in text
    assert "NodeUnschedulable" in text


def test_every_public_message_has_a_page(client: Client) -> None:
    for one in MESSAGES:
        assert 'role="alert"' not in post(client, one.text).source


def test_a_text_without_a_message_gets_a_sentence(client: Client) -> None:
    page = post(client, "hello <b>", status=400)
    assert "The text has no message of FailedScheduling" in page.flat
    assert "hello &lt;b&gt;" in page.source
    assert "is empty" in post(client, "", status=400).flat
    assert get(client, "/message/").source.count("<textarea") == 1


def test_hostile_text_is_escaped(client: Client) -> None:
    page = post(client, EVIL)
    assert not page.inline
    assert "<img" not in page.source
    assert "\\u202e\\x1b" in page.source


def api(client: Client, text: object, status: int = 200) -> dict[str, Any]:
    answer = client.post("/api/messages", {"text": text}, content_type="application/json")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_the_api_gives_the_same(client: Client) -> None:
    (message,) = api(client, CPU)["messages"]
    assert message["sentence"] == "None of 5 nodes takes the pod: 3 lack cpu; 2 are cordoned."
    assert message["releases"]["since"] == "1.16"
    assert "has no message" in str(api(client, "hello", status=400)["error"])
    assert api(client, 5, status=422)["error"]
    assert "1000000" in str(api(client, "x" * 1_000_001, status=422)["error"])
