"""Websocket of a live class: the current step or page, the student's own answer, and answer counts for the teacher.

Students connect to /ws/classes/CODE?version=N and are identified by a cookie; the teacher connects to
/ws/classes/teach/KEY?version=N, the wall page to /ws/classes/wall/CODE?version=N. Text frames: {"room": ...},
{"mine": ...}, {"counts": ...}, {"wall": ...}, {"over": "a sentence"}.
See docs/live-classes.md.
"""

from collections.abc import AsyncGenerator
from urllib.parse import parse_qs

from django.http import parse_cookie

from kubesched_ui.live_classes import membership, teacher_actions
from kubesched_ui.live_classes.hub import LiveClassTopic, encode
from kubesched_ui.web.client_address import address_of_scope
from kubesched_ui.websockets.connection import Subscription
from kubesched_ui.websockets.hub import NOT_FOUND, Ending, Scope, in_thread


def authenticate(scope: Scope) -> tuple[int, int | None] | None:
    """Return the primary keys of the live class and of the student (None for the teacher and the wall page), or None if
    unauthorised."""
    named = scope["url_route"]["kwargs"]
    if "wall" in named:
        found = membership.open_class(named["wall"], address_of_scope(scope))
        return (found.pk, None) if found else None
    if "key" in named:
        live_class = teacher_actions.by_key(named["key"])
        return (live_class.pk, None) if live_class else None
    cookies = "; ".join(value.decode("latin1") for name, value in scope["headers"] if name == b"cookie")
    student = membership.student_of(named["code"], parse_cookie(cookies))
    return (student.live_class_id, student.pk) if student else None


class LiveClassSubscription(Subscription):
    """What a page of a live class receives: always the newest messages. `student`: None for the teacher and the wall.
    `version`: what the page has."""

    topics = LiveClassTopic
    topic: LiveClassTopic
    student: int | None = None
    version = 0

    async def open(self, scope: Scope) -> int:
        version = parse_qs(scope["query_string"].decode("utf-8", "replace")).get("version", ["0"])[0]
        self.version = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0
        self.counts = "wall" if "wall" in scope["url_route"]["kwargs"] else "counts"
        if (found := await in_thread(authenticate, scope)) is None:
            raise Ending(NOT_FOUND, LiveClassTopic.missing)
        number, self.student = found
        return number

    @property
    def ready(self) -> bool:
        state = self.topic.state
        return state is not None and bool(self.student is not None or state.counts is not None or state.over)

    async def messages(self) -> AsyncGenerator[str]:
        """Yield messages until the live class ends or the student is removed."""
        counts, own_sent = None, False  # counts: what was sent last
        while (snapshot := self.topic.state) is not None:
            if snapshot.over or self.student in snapshot.removed:
                yield encode({"over": snapshot.over or membership.REMOVED})
                return
            if self.version != snapshot.version or not own_sent:
                if self.version != snapshot.version and snapshot.shown is not None:
                    yield snapshot.shown
                if self.student is not None:
                    own = snapshot.mine.get(self.student, snapshot.none)
                    if own is not None:
                        yield own
                self.version, own_sent = snapshot.version, True
            found = getattr(snapshot, self.counts) if self.student is None else None
            if found is not None and counts is not found:
                yield found
                counts = found
            if self.topic.state is snapshot:
                await self.topic.change()
