"""The websocket of a room, through the real ASGI application: the present state, every change, nothing unrevealed."""

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
from tests.kubesched_ui.live_classes.conftest import Class, browser, opened

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.usefixtures("forgetful_layer")]


def kinds() -> dict[str, tuple[str, int]]:
    """Kind of question -> the first lesson and step that has it."""
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


async def joined(room: Class, name: str) -> tuple[Client, WebsocketCommunicator]:
    client = await sync_to_async(room.join)(name)
    code = (await sync_to_async(lambda: room.room)()).code
    return client, await connect(f"/ws/rooms/{code}", client)


async def until(socket: WebsocketCommunicator, kind: str, true: Any = lambda told: True) -> list[str]:
    """The messages until one of that kind is as wanted, that one included."""
    found = []
    while True:
        message = await socket.receive_output(timeout=10)
        assert message["type"] == "websocket.send", message
        found.append(message["text"])
        told = json.loads(message["text"])
        if kind in told and true(told[kind]):
            return found


async def test_everybody_follows_and_counts_come() -> None:
    name, step = next(place for place in kinds().values() if place[1] > 1)
    room = await sync_to_async(opened)(name, step)
    teacher = await connect(f"/ws/rooms/teach/{room.key}")
    await until(teacher, "counts")
    ada, socket = await joined(room, "Ada <b>")
    await until(socket, "mine")
    told = await until(teacher, "counts", lambda counts: counts["students"] == 1)
    assert "Ada &lt;b&gt;" in told[-1]
    right = await sync_to_async(room.right)(step)
    assert (await sync_to_async(room.answer)(ada, step, right)).status_code == 200
    await until(teacher, "counts", lambda counts: counts["answered"] == 1)
    await sync_to_async(room.move)(reveal=step)
    assert '"revealed":true' in (await until(socket, "room", lambda state: state["revealed"]))[-1]
    assert "Right" in (await until(socket, "mine"))[-1]
    late, late_socket = await joined(room, "Late")
    assert '"revealed":true' in (await until(late_socket, "room"))[-1], "who comes late sees the present"
    await sync_to_async(room.move)(step=step - 1)
    for one in (socket, late_socket, teacher):
        await until(one, "room", lambda state: state["step"] == step - 1)
    again = await connect(f"/ws/rooms/{await code_of(room)}?version=3", late)
    first = json.loads((await again.receive_output(timeout=10))["text"])
    assert "mine" in first, "who knows the present is not sent it again"
    await sync_to_async(room.move)(close=1)
    for one in (socket, late_socket, teacher, again):
        assert "closed" in (await until(one, "over"))[-1]
        assert (await one.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}


async def test_the_wall_follows_without_names() -> None:
    name, step = next(iter(kinds().values()))
    room = await sync_to_async(opened)(name, step)
    code = await code_of(room)
    wall = await connect(f"/ws/rooms/wall/{code}")
    ada, socket = await joined(room, "Ada")
    await sync_to_async(room.answer)(ada, step, await sync_to_async(room.right)(step))
    told = await until(wall, "wall", lambda counts: counts["answered"] == 1)
    await sync_to_async(room.move)(bars=step)
    told += await until(wall, "wall", lambda counts: 'class="bars"' in counts["bars"])
    await sync_to_async(room.move)(close=1)
    told += await until(wall, "over")
    assert not any("Ada" in text or "counts" in json.loads(text) for text in told)
    assert next(json.loads(text)["wall"]["bars"] for text in told if "wall" in json.loads(text)) == ""
    await socket.disconnect()
    other = await connect(f"/ws/rooms/wall/{'B' * 8}")
    assert "There is no such class" in (await other.receive_output(timeout=5))["text"]


async def test_without_a_notice_a_socket_hears_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "publish", lambda live_class_id: None)
    room = await sync_to_async(opened)()
    _, socket = await joined(room, "Ada")
    await until(socket, "mine")
    await sync_to_async(room.move)(step=2)
    await until(socket, "room", lambda state: state["step"] == 2)
    await socket.disconnect()


async def test_other_processes_hear_through_the_channel_layer() -> None:
    layer, heard = get_channel_layer(), asyncio.get_running_loop().create_future()
    notices = Notices(lambda number: heard.done() or heard.set_result(number), publisher.KIND)
    notices.add(7)
    while notices.channel is None or not layer.groups:
        await asyncio.sleep(0.01)
    for _ in range(40):  # this layer loses half of them
        await layer.group_send(group(7, publisher.KIND), {"type": "live_class.changed", publisher.KIND: 7})
    assert await asyncio.wait_for(heard, 5) == 7
    notices.stop()


async def test_what_is_told_goes_to_the_group_of_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []

    class Layer:
        async def group_send(self, name: str, message: dict[str, Any]) -> None:
            sent.append((name, message))

    monkeypatch.setattr(websocket_publisher, "get_channel_layer", Layer)
    publisher.publish(7)
    while not sent:
        await asyncio.sleep(0.01)
    assert sent == [("live_class-7", {"type": "live_class.changed", "live_class": 7})]


async def code_of(room: Class) -> str:
    code: str = (await sync_to_async(lambda: room.room)()).code
    return code


async def test_who_has_not_joined_hears_nothing(settings: Any) -> None:
    room = await sync_to_async(opened)()
    code = await code_of(room)
    other = await sync_to_async(opened)()
    stranger = browser()
    secret = (await sync_to_async(other.join)("Eve")).cookies[membership.cookie_of(await code_of(other))].value
    stranger.cookies[membership.cookie_of(code)] = secret
    addresses = [f"/ws/rooms/{code}", "/ws/rooms/BBBBBBBB", f"/ws/rooms/teach/{'k' * 43}"]
    for address in addresses:
        for client in (None, stranger):
            socket = await connect(address, client)
            assert "no such class" in (await socket.receive_output(timeout=5))["text"]
            assert (await socket.receive_output(timeout=5))["code"] == 4404
    settings.SOCKETS_MAX = 0
    socket = await connect(f"/ws/rooms/teach/{room.key}")
    await socket.receive_output(timeout=5)
    assert (await socket.receive_output(timeout=5))["code"] == 1013
    assert not socket_metrics.sockets


@pytest.mark.long
async def test_nothing_unrevealed_reaches_a_student(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is sent before the reveal, of each kind of question: pages, parts, answers, the socket, other addresses.

    For who has not answered it comes about without the answer being computed at all; who has answered is sent the same
    whether it is right or wrong, but for what they answered themselves.
    """
    for name, step in kinds().values():
        room = await sync_to_async(opened)(name, step)
        secret = await sync_to_async(hidden)(room, step)
        right, wrong = await sync_to_async(room.right)(step), await sync_to_async(room.wrong)(step)
        parts._cache.clear()  # what is made for who has not answered is made now
        silent = "".join(await untold(room, step, monkeypatch))
        told = [await answered(room, step, f"Student {n}", give) for n, give in enumerate((right, wrong))]
        for text in (silent, *told):
            for paragraph in secret:
                assert paragraph not in text, (name, step, paragraph)
            texts = ("Right</span>", "Not correct", "The answer</span>", 'id="revealed"', "How this value is computed")
            for word in texts:
                assert word not in text, (name, step, word)
        assert told[0] == told[1], (name, step)
        await sync_to_async(room.move)(reveal=step)
        after = (await sync_to_async(room.part)(await sync_to_async(room.join)("After")))["parts"]["after"]
        assert all(paragraph in after for paragraph in secret), "it is there once it is revealed"


def hidden(room: Class, step: int) -> list[str]:
    """The text below `Revealed`, by paragraphs."""
    lesson = room.lesson
    return re.findall(r"<p>(.+?)</p>", markdown.render(lesson.section(step).after.text, lesson.facts(step)), re.S)


async def untold(room: Class, step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that is sent to somebody who has not answered, made without computing what is asked."""

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("what is asked was computed before it is revealed")

    question = await sync_to_async(lambda: room.lesson.question(step))()
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
        client, socket = await joined(room, "Silent")
        sent = await until(socket, "mine")
        await socket.disconnect()
        return [*sent, *await sync_to_async(everywhere)(room, client, step)]


def everywhere(room: Class, client: Client, step: int) -> list[str]:
    """What every address of the room says to a student, whatever step is asked for."""
    code = room.room.code
    said = []
    for query in ("", f"?step={step}", f"?step={step + 1}", "?step=999", "?revealed=1", "?step=x"):
        said += [client.get(f"/join/{code}/{address}{query}").content.decode() for address in ("", "part/")]
    said += [client.get(f"/join/{code}/answer/").content.decode(), client.get("/join/").content.decode()]
    for address in ("", "move/", "results/", "answers.csv"):  # the code is no key
        told = client.get(f"/rooms/{code}/{address}"), client.post(f"/rooms/{code}/{address}", {"reveal": step})
        assert {one.status_code for one in told} <= {404, 405}
        said += [one.content.decode() for one in told]
    return said


async def answered(room: Class, step: int, name: str, give: list[str]) -> str:
    """All that is sent to somebody who answers, without what they answered and who they are."""
    client, socket = await joined(room, name)
    sent = await until(socket, "mine")
    reply = await sync_to_async(room.answer)(client, step, give)
    assert reply.status_code == 200, reply.content
    sent.append(reply.content.decode())
    await socket.disconnect()
    again = await connect(f"/ws/rooms/{await code_of(room)}", client)  # who reloads
    sent += await until(again, "mine")
    await again.disconnect()
    sent += await sync_to_async(everywhere)(room, client, step)
    text = re.sub(r"(Your answer:)[^<]*<", r"\1 <", "".join(sent)).replace(name, "Student")
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


async def test_a_room_that_is_deleted_ends_its_sockets() -> None:
    room = await sync_to_async(opened)()
    _, socket = await joined(room, "Ada")
    await until(socket, "mine")
    await sync_to_async(LiveClass.objects.all().delete)()
    assert await sync_to_async(Student.objects.count)() == 0
    assert "no such class" in (await socket.receive_output(timeout=5))["text"]
    assert (await socket.receive_output(timeout=5))["code"] == 4404
    await asyncio.sleep(0)


async def test_who_is_removed_is_told_so_at_once_and_others_stay() -> None:
    room = await sync_to_async(opened)()
    teacher = await connect(f"/ws/rooms/teach/{room.key}")
    (ada, socket), (_, other) = await joined(room, "Ada"), await joined(room, "Bob")
    for one in (socket, other):
        await until(one, "mine")
    await until(teacher, "counts", lambda counts: counts["students"] == 2)
    number = (await Student.objects.aget(name="Ada")).pk
    await sync_to_async(room.move)(remove=number)
    assert json.loads((await until(socket, "over"))[-1]) == {"over": REMOVED}
    assert (await socket.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}
    told = await until(teacher, "counts", lambda counts: counts["students"] == 1)
    assert "Ada" not in told[-1]
    again = await connect(f"/ws/rooms/{await code_of(room)}", ada)
    assert [json.loads(one) for one in await until(again, "over")] == [{"over": REMOVED}], "and nothing else"
    assert (await again.receive_output(timeout=5)) == {"type": "websocket.close", "code": 1000}
    await sync_to_async(room.move)(step=2)
    await until(other, "room", lambda state: state["step"] == 2)
    for one in (other, teacher):
        await one.disconnect()
