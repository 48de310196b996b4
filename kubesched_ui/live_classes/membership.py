"""Students of a live class: they join with a code and a nickname, and the teacher can remove them.

A secret in a cookie identifies a student. Codes are short, so wrong guesses are rate-limited.
"""

import re
import unicodedata
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.rate_limits import Limit
from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.models import CODE, LETTERS, MAX_NICKNAME, OVER, Answer, LiveClass, Rejected, Student

TRIES = Limit("room-codes", 100, 300)  # wrong codes per client IP; a whole school may share one
REMOVED = "The teacher removed you from this class."
NO_STUDENT = "There is no such student in this class."
READ = 200  # maximum number of characters read from the input
MARKS = re.compile(r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{2})"
                   r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")  # fmt: skip


def typed(text: str) -> str:
    """Normalise a typed code such as `bcdf-ghjk` or `BCDF GHJK`. Return "" if it is not a code."""
    code = "".join(text[:40].split()).replace("-", "").upper()
    return code if len(code) == CODE and set(code) <= set(LETTERS) else ""


def open_class(code: str, address: str) -> LiveClass | None:
    """Return the open class with a typed code. A wrong code counts for the client address; after many, every code is
    wrong."""
    if TRIES.reached(address):
        return None
    found = LiveClass.objects.live().select_related("run").filter(code=typed(code)).first()
    if found is None:
        TRIES.count(address)
    return found


def cookie_of(code: str) -> str:
    """Return the name of the cookie that identifies a student of a live class."""
    return f"room-{code}"


def student_of(code: str, cookies: Mapping[str, str]) -> Student | None:
    """Return the student that the cookies identify, even if removed. Returns None both for an unknown student and an
    unknown code, so that a stranger cannot find out which codes exist."""
    secret = cookies.get(cookie_of(code), "")
    if not secret:
        return None
    students = Student.objects.select_related("live_class__run")
    return students.filter(digest=token_hash.digest(secret), live_class__code=code).first()


def nickname(text: str) -> str:
    """Normalise a nickname: one line of printable characters, with at most two combining marks in a row."""
    text = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", text[:READ]))
    return " ".join(MARKS.sub(r"\1", text).split())[:MAX_NICKNAME].strip()


@transaction.atomic
def join(live_class: LiveClass, name: str) -> tuple[Student, str]:
    """Create a student. Return it with the secret for its cookie. Raises Rejected."""
    name = nickname(name)
    if not name:
        raise Rejected("Enter a nickname.", 400)
    now = LiveClass.objects.select_for_update().get(pk=live_class.pk)
    if not now.live:
        raise Rejected(OVER, 410)
    names = {one.casefold() for one in now.students.there().values_list("name", flat=True)}
    if len(names) >= settings.LIVE_CLASS_STUDENTS_MAX:
        raise Rejected(f"This class is full: the limit is {settings.LIVE_CLASS_STUDENTS_MAX} students.", 409)
    secret = token_hash.new()
    student = Student.objects.create(live_class=now, name=distinct(name, names), digest=token_hash.digest(secret))
    publisher.publish_answers(now.pk)
    return student, secret


def distinct(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if the name is taken."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        end = f" {number}"
        found = name[: MAX_NICKNAME - len(end)].rstrip() + end
    return found


@transaction.atomic
def remove(live_class: LiveClass, student: str) -> None:
    """Remove a student by number, also from a closed class: delete the nickname and the answers, and reject the cookie
    from then on. Does nothing if already removed. Raises Rejected."""
    number = int(student) if student.isascii() and student.isdigit() and len(student) < 18 else 0
    LiveClass.objects.select_for_update().get(pk=live_class.pk)  # lock the row so that no answer is stored concurrently
    found = Student.objects.filter(pk=number, live_class=live_class)
    if not found.exists():
        raise Rejected(NO_STUDENT, 404)
    if not found.there().update(name="", removed_at=timezone.now()):
        return
    Answer.objects.filter(student=number).delete()
    publisher.publish_answers(live_class.pk)


def check(student: Student) -> None:
    """Raise Refused if the student was removed."""
    if student.removed_at is not None:
        raise Rejected(REMOVED, 403)


def check_now(student: Student) -> None:
    """Check the stored state instead. Call it in a transaction that locks the live class. Raises Rejected."""
    if not Student.objects.there().filter(pk=student.pk).exists():
        raise Rejected(REMOVED, 403)
