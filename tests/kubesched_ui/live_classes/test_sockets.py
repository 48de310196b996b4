"""Websocket of a live class, through the ASGI application: current state, changes, no hidden answers."""

import asyncio
import json
import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.test import Client

from kubesched_ui.asgi import application
from kubesched_ui.lessons import catalog, diagram, feedback, markdown, questions, step_state
from kubesched_ui.live_classes import membership, parts, publisher
from kubesched_ui.live_classes.membership import REMOVED
from kubesched_ui.live_classes.models import LiveClass, Student
from kubesched_ui.websockets import publisher as websocket_publisher
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.publisher import group
from kubesched_ui.websockets.subscriber import Notices
from tests.kubesched_ui.live_classes.conftest import ClassClient, browser, opened

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.usefixtures("lossy_layer")]


def kinds() -> dict[str, tuple[str, int]]:
    """Return for each kind of question the first lesson and step that has it."""
    found: dict[str, tuple[str, int]] = {}
    for lesson in catalog.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.ask:
                found.setdefault(step.ask.kind, (lesson.name, number))
    return found


async def connect(address: str, client: Client | None = None) -> WebsocketCommunicator:
    cookies = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items()) if client else ""
    socket = WebsocketCommunicator(application, address, headers=[(b"cookie", cookies.encode())])
    assert (await socket.connect())[0]
    return socket


async def joined(live_class: ClassClient, name: str) -> tuple[Client, WebsocketCommunicator]:
    client = await sync_to_async(live_class.join)(name)
    code = (await sync_to_async(lambda: live_class.row)()).code
    return client, await connect(f"/ws/classes/{code}", client)


async def messages_until(socket: WebsocketCommunicator, kind: str, condition: Any = lambda content: True) -> list[str]:
    """Return the messages up to the first one of the kind that satisfies `condition`."""
    found = []
    while True:
        message = await socket.receive_output(timeout=10)
        assert message["type"] == "websocket.send", message
        found.append(message["text"])
        content = json.loads(message["text"])
        if kind in content and condition(content[kind]):
            return found


async def test_all_clients_receive_moves_and_counts() -> None:
    name, step = next(place for place in kinds().values() if place[1] > 1)
    live_class = await sync_to_async(opened)(name, step)
    teacher = await connect(f"/ws/classes/teach/{live_class.key}")
    await messages_until(teacher, "counts")
    ada, socket = await joined(live_class, "Ada <b>")
    await messages_until(socket, "mine")
    messages = await messages_until(teacher, "counts", lambda counts: counts["students"] == 1)
    assert "Ada &lt;b&gt;" in messages[-1]
    right = await sync_to_async(live_class.right)(step)
    assert (await sync_to_async(live_class.answer)(ada, step, right)).status_code == 200
    await messages_until(teacher, "counts", lambda counts: counts["answered"] == 1)
    await sync_to_async(live_class.move)(reveal=step)
    assert '"revealed":true' in (await messages_until(socket, "room", lambda state: state["revealed"]))[-1]
    assert "Right" in (await messages_until(socket, "mine"))[-1]
    late, late_socket = await joined(live_class, "Late")
    assert '"revealed":true' in (await messages_until(late_socket, "room"))[-1], (
        "a late student receives the current state"
    )
    await sync_to_async(live_class.move)(step=step - 1)
    for one in (socket, late_socket, teacher):
        await messages_until(one, "room", lambda state: state["step"] == step - 1)
    again = await connect(f"/ws/classes/{await code_of(live_class)}?version=3", late)
    first = json.loads((await again.receive_output(timeout=10))["text"])
    assert "mine" in first, "a client with the current version does not receive it again"
    await sync_to_async(live_class.move)(close=1)
    for one in (socket, late_socket, teacher, again):
        assert "closed" in (await messages_until(one, "over"))[-1]
        assert (await one.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}


async def test_the_projector_page_receives_no_names() -> None:
    name, step = next(iter(kinds().values()))
    live_class = await sync_to_async(opened)(name, step)
    code = await code_of(live_class)
    wall = await connect(f"/ws/classes/wall/{code}")
    ada, socket = await joined(live_class, "Ada")
    await sync_to_async(live_class.answer)(ada, step, await sync_to_async(live_class.right)(step))
    messages = await messages_until(wall, "wall", lambda counts: counts["answered"] == 1)
    await sync_to_async(live_class.move)(bars=step)
    messages += await messages_until(wall, "wall", lambda counts: 'class="bars"' in counts["bars"])
    await sync_to_async(live_class.move)(close=1)
    messages += await messages_until(wall, "over")
    assert not any("Ada" in text or "counts" in json.loads(text) for text in messages)
    assert next(json.loads(text)["wall"]["bars"] for text in messages if "wall" in json.loads(text)) == ""
    await socket.disconnect()
    other = await connect(f"/ws/classes/wall/{'B' * 8}")
    assert "There is no such class" in (await other.receive_output(timeout=5))["text"]


async def test_a_socket_polls_if_a_notice_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "publish", lambda live_class_id: None)
    live_class = await sync_to_async(opened)()
    _, socket = await joined(live_class, "Ada")
    await messages_until(socket, "mine")
    await sync_to_async(live_class.move)(step=2)
    await messages_until(socket, "room", lambda state: state["step"] == 2)
    await socket.disconnect()


async def test_other_processes_are_notified_through_the_channel_layer() -> None:
    layer, received = get_channel_layer(), asyncio.get_running_loop().create_future()
    notices = Notices(lambda number: received.done() or received.set_result(number), publisher.KIND)
    notices.add(7)
    while notices.channel is None or not layer.groups:
        await asyncio.sleep(0.01)
    for _ in range(40):  # this layer loses half of the messages
        await layer.group_send(group(7, publisher.KIND), {"type": "live_class.changed", publisher.KIND: 7})
    assert await asyncio.wait_for(received, 5) == 7
    notices.stop()


async def test_a_notice_is_sent_to_the_group_of_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    class Layer:
        async def group_send(self, name: str, message: dict[str, Any]) -> None:
            sent.append((name, message))

    monkeypatch.setattr(websocket_publisher, "get_channel_layer", Layer)
    publisher.publish(7)
    while not sent:
        await asyncio.sleep(0.01)
    assert sent == [("live_class-7", {"type": "live_class.changed", "live_class": 7})]


async def code_of(live_class: ClassClient) -> str:
    code: str = (await sync_to_async(lambda: live_class.row)()).code
    return code


async def test_a_client_that_has_not_joined_receives_nothing(settings: Any) -> None:
    live_class = await sync_to_async(opened)()
    code = await code_of(live_class)
    other = await sync_to_async(opened)()
    stranger = browser()
    secret = (await sync_to_async(other.join)("Eve")).cookies[membership.cookie_of(await code_of(other))].value
    stranger.cookies[membership.cookie_of(code)] = secret
    addresses = [f"/ws/classes/{code}", "/ws/classes/BBBBBBBB", f"/ws/classes/teach/{'k' * 43}"]
    for address in addresses:
        for client in (None, stranger):
            socket = await connect(address, client)
            assert "no such class" in (await socket.receive_output(timeout=5))["text"]
            assert (await socket.receive_output(timeout=5))["code"] == 4404
    settings.SOCKETS_MAX = 0
    socket = await connect(f"/ws/classes/teach/{live_class.key}")
    await socket.receive_output(timeout=5)
    assert (await socket.receive_output(timeout=5))["code"] == 1013
    assert not socket_metrics.sockets


@pytest.mark.long
async def test_hidden_answers_are_not_sent_to_students(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check pages, parts, responses, the socket and other addresses, for each kind of question, before the reveal.

    For a student who has not answered, the answer is not computed at all. A student who has answered receives the
    same messages for a right and a wrong answer, except for their own input.
    """
    for name, step in kinds().values():
        live_class = await sync_to_async(opened)(name, step)
        secret = await sync_to_async(hidden)(live_class, step)
        right, wrong = await sync_to_async(live_class.right)(step), await sync_to_async(live_class.wrong)(step)
        parts._cache.clear()  # compute the parts for students who have not answered again
        silent = "".join(await messages_before_answer(live_class, step, monkeypatch))
        answered = [
            await messages_after_answer(live_class, step, f"Student {n}", give) for n, give in enumerate((right, wrong))
        ]
        for text in (silent, *answered):
            for paragraph in secret:
                assert paragraph not in text, (name, step, paragraph)
            texts = ("Right</span>", "Not correct", "The answer</span>", 'id="revealed"', "How this value is computed")
            for word in texts:
                assert word not in text, (name, step, word)
        assert answered[0] == answered[1], (name, step)
        await sync_to_async(live_class.move)(reveal=step)
        after = (await sync_to_async(live_class.part)(await sync_to_async(live_class.join)("After")))["parts"]["after"]
        assert all(paragraph in after for paragraph in secret), "present after the reveal"


def hidden(live_class: ClassClient, step: int) -> list[str]:
    """Return the paragraphs below `Revealed`."""
    lesson = live_class.lesson
    return re.findall(r"<p>(.+?)</p>", markdown.render(lesson.section(step).after.text, lesson.facts(step)), re.S)


async def messages_before_answer(live_class: ClassClient, step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return all messages to a student who has not answered. Fail if the answer is computed."""

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("the answer was computed before the reveal")

    question = await sync_to_async(lambda: live_class.lesson.question(step))()
    shows_its_run = question is not None and question.ask.kind == "change"  # the run before the change
    with monkeypatch.context() as patched:
        for module, function in (
            (questions, "answer"),
            (questions, "judge"),
            *(() if shows_its_run else ((diagram, "revealed"),)),
            (feedback, "explain"),
            (step_state, "answer_text"),
        ):
            patched.setattr(module, function, never)
        client, socket = await joined(live_class, "Silent")
        sent = await messages_until(socket, "mine")
        await socket.disconnect()
        return [*sent, *await sync_to_async(responses_of_all_addresses)(live_class, client, step)]


def responses_of_all_addresses(live_class: ClassClient, client: Client, step: int) -> list[str]:
    """Return what every address of the class sends to a student, for any requested step."""
    code = live_class.row.code
    texts = []
    for query in ("", f"?step={step}", f"?step={step + 1}", "?step=999", "?revealed=1", "?step=x"):
        texts += [client.get(f"/join/{code}/{address}{query}").content.decode() for address in ("", "part/")]
    texts += [client.get(f"/join/{code}/answer/").content.decode(), client.get("/join/").content.decode()]
    for address in ("", "move/", "results/", "answers.csv"):  # the code is not the key
        responses = (
            client.get(f"/classes/{code}/{address}"),
            client.post(f"/classes/{code}/{address}", {"reveal": step}),
        )
        assert {one.status_code for one in responses} <= {404, 405}
        texts += [one.content.decode() for one in responses]
    return texts


async def messages_after_answer(live_class: ClassClient, step: int, name: str, give: list[str]) -> str:
    """Return all messages to a student who answers, without the student's input and name."""
    client, socket = await joined(live_class, name)
    sent = await messages_until(socket, "mine")
    reply = await sync_to_async(live_class.answer)(client, step, give)
    assert reply.status_code == 200, reply.content
    sent.append(reply.content.decode())
    await socket.disconnect()
    again = await connect(f"/ws/classes/{await code_of(live_class)}", client)  # as after a reload of the page
    sent += await messages_until(again, "mine")
    await again.disconnect()
    sent += await sync_to_async(responses_of_all_addresses)(live_class, client, step)
    text = re.sub(r"(Your answer:)[^<]*<", r"\1 <", "".join(sent)).replace(name, "Student")
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


async def test_a_deleted_class_closes_its_sockets() -> None:
    live_class = await sync_to_async(opened)()
    _, socket = await joined(live_class, "Ada")
    await messages_until(socket, "mine")
    await sync_to_async(LiveClass.objects.all().delete)()
    assert await sync_to_async(Student.objects.count)() == 0
    assert "no such class" in (await socket.receive_output(timeout=5))["text"]
    assert (await socket.receive_output(timeout=5))["code"] == 4404
    await asyncio.sleep(0)


async def test_a_removed_student_is_disconnected_and_others_stay() -> None:
    live_class = await sync_to_async(opened)()
    teacher = await connect(f"/ws/classes/teach/{live_class.key}")
    (ada, socket), (_, other) = await joined(live_class, "Ada"), await joined(live_class, "Bob")
    for one in (socket, other):
        await messages_until(one, "mine")
    await messages_until(teacher, "counts", lambda counts: counts["students"] == 2)
    number = (await Student.objects.aget(name="Ada")).pk
    await sync_to_async(live_class.move)(remove=number)
    assert json.loads((await messages_until(socket, "over"))[-1]) == {"over": REMOVED}
    assert (await socket.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}
    messages = await messages_until(teacher, "counts", lambda counts: counts["students"] == 1)
    assert "Ada" not in messages[-1]
    again = await connect(f"/ws/classes/{await code_of(live_class)}", ada)
    assert [json.loads(one) for one in await messages_until(again, "over")] == [{"over": REMOVED}], "and nothing else"
    assert (await again.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}
    await sync_to_async(live_class.move)(step=2)
    await messages_until(other, "room", lambda state: state["step"] == 2)
    for one in (other, teacher):
        await one.disconnect()
