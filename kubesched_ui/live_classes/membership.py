"""Students join a live class with a code and a nickname. A secret in a cookie identifies them from then on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction
from django.db.models import F

from kubesched_ui.accounts import token_hash
from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Rejected
from kubesched_ui.live_classes.models import MAX_NICKNAME, LiveClass, Student
from kubesched_ui.live_classes.teacher_actions import OVER

READ = 200  # maximum number of characters read from the input
MARKS = re.compile(r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{2})"
                   r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")  # fmt: skip


def cookie_of(code: str) -> str:
    """Return the name of the cookie that identifies a student of a live class."""
    return f"room-{code}"


def student_of(code: str, cookies: Mapping[str, str]) -> Student | None:
    """Return the student that the cookies identify, even if removed.

    Returns None both for an unknown student and an unknown code, so that a stranger cannot find out which codes
    exist.
    """
    secret = cookies.get(cookie_of(code), "")
    if not secret:
        return None
    return (
        Student.objects.select_related("live_class__run")
        .filter(digest=token_hash.digest(secret), live_class__code=code)
        .first()
    )


def nickname(text: str) -> str:
    """Normalise a nickname: one line of printable characters, with at most two combining marks in a row."""
    seen = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", text[:READ]))
    return " ".join(MARKS.sub(r"\1", seen).split())[:MAX_NICKNAME].strip()


@transaction.atomic
def join(live_class: LiveClass, name: str) -> tuple[Student, str]:
    """Create a student. Return it with the secret for its cookie. Raises Refused."""
    name = nickname(name)
    if not name:
        raise Rejected("Enter a nickname.", 400)
    now = LiveClass.objects.select_for_update().get(pk=live_class.pk)
    if not now.live:
        raise Rejected(OVER, 410)
    names = {one.casefold() for one in now.students.there().values_list("name", flat=True)}
    if len(names) >= settings.ROOM_STUDENTS_MAX:
        raise Rejected(f"This class is full: the limit is {settings.ROOM_STUDENTS_MAX} students.", 409)
    secret = token_hash.new()
    student = Student.objects.create(live_class=now, name=distinct(name, names), digest=token_hash.digest(secret))
    LiveClass.objects.filter(pk=now.pk).update(answers_version=F("answers_version") + 1)
    publisher.publish_after_commit(now.pk)
    return student, secret


def distinct(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if the name is taken."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        end = f" {number}"
        found = name[: MAX_NICKNAME - len(end)].rstrip() + end
    return found
