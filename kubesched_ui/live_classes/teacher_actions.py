"""Actions of the teacher: opens, moves and closes a live class.

A move names the target state and not a difference, so a repeated request changes nothing.
"""

import secrets
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.models import Share
from kubesched_ui.lessons import written_lessons
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.live_classes import lesson_copies, parts, publisher
from kubesched_ui.live_classes.models import CODE, LETTERS, OVER, WRITTEN, LessonCopy, LiveClass, Rejected
from kubesched_ui.models import Run, WrittenLesson, current_viewer
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.cluster.formatting import count

PER_USER = 20  # maximum number of open live classes per user
COPIES_PER_USER = 100  # of classes that are not deleted, each with at most 200 kB


def on_lesson(name: str, step: int) -> tuple[LiveClass, str]:
    """Open a live class at a lesson's step. Return it with the teacher's key, which is not stored. Raises Rejected."""
    return _open(LiveClass(lesson=name, step=step))


def on_written_lesson(written: WrittenLesson, step: int) -> tuple[LiveClass, str]:
    """Open a live class on a copy of a written lesson. Return it with the teacher's key. Raises Rejected, InputError.

    A lesson of which a step cannot be shown gets no class.
    """
    live_class, key = _open(LiveClass(lesson=f"{WRITTEN}{written.pk}", step=step), written_lessons.exported(written))
    try:
        lesson = lesson_copies.copied(live_class)
        if not 1 <= step <= len(lesson.steps):
            raise Rejected(f"The lesson has no step {step}.", 404)
        parts.prepare_steps(lesson)
    except Rejected:
        live_class.delete()
        raise
    except LessonError as problem:
        live_class.delete()
        raise Rejected(f"The lesson has a problem: {problem}") from None
    return live_class, key


def on_run(run: Run, address: str) -> tuple[LiveClass, str]:
    """Open a live class on a run, at one of its pages. Return it with the teacher's key. Raises Rejected."""
    return _open(LiveClass(run=run, address=address))


@transaction.atomic
def _open(live_class: LiveClass, text: str = "") -> tuple[LiveClass, str]:
    _check_number()
    if text:
        _check_copies()
    key = token_hash.new()
    live_class.code, live_class.digest = _new_code(), token_hash.digest(key)
    live_class.expires_at = timezone.now() + timedelta(hours=settings.LIVE_CLASS_HOURS)
    live_class.share = _share(live_class)
    live_class.save(force_insert=True)
    if text:
        LessonCopy.objects.create(live_class=live_class, text=text)
    return live_class, key


def _check_number() -> None:
    lock_until_commit("number of live classes")
    there = LiveClass.objects.live()
    if there.count() >= settings.LIVE_CLASSES_MAX:
        limit = f"The limit of {settings.LIVE_CLASSES_MAX} open classes on this server is reached."
        raise Rejected(f"{limit} Try again when one is closed.", 503)
    owner = current_viewer.owner_id()
    if owner is not None and there.filter(owner=owner).count() >= PER_USER:
        raise Rejected(f"{PER_USER} of your classes are open. Close one of them first.")


def _check_copies() -> None:
    if LessonCopy.objects.filter(live_class__owner=current_viewer.owner_id()).count() >= COPIES_PER_USER:
        deleted = f"They are deleted {count(settings.LIVE_CLASS_KEEP_DAYS, 'day')} after their end."
        raise Rejected(f"You had {COPIES_PER_USER} classes on written lessons. {deleted}")


def _share(live_class: LiveClass) -> Share | None:
    """Create a share link so that students can see the run until the class ends. The link's secret is not stored:
    students get access only by joining."""
    owner = current_viewer.owner_id()
    if live_class.run is None or owner is None:
        return None
    values = {"owner": User.objects.get(pk=owner), "digest": token_hash.digest(token_hash.new())}
    return Share.objects.create(run=live_class.run, note="Live class", expires_at=live_class.expires_at, **values)


def by_key(key: str) -> LiveClass | None:
    """Return the live class of a teacher's key, also if it is over."""
    return LiveClass.objects.select_related("run").filter(digest=token_hash.digest(key)).first()


def _new_code() -> str:
    """Return a random unused code, one of 378 thousand million."""
    while True:
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        if not LiveClass.objects.filter(code=code).exists():
            return code


def go_to_step(live_class: LiveClass, step: int) -> None:
    """Go to a step of the lesson. Raises Rejected."""
    _change(live_class, lambda now: setattr(now, "step", step))


def reveal(live_class: LiveClass, step: int) -> None:
    """Reveal the answer of a step that the class has reached. Raises Rejected."""

    def show(now: LiveClass) -> None:
        if step > now.step:
            raise Rejected("The class has not reached this step yet.")
        now.revealed = sorted({*now.revealed, step})

    _change(live_class, show)


def show_bars(live_class: LiveClass, step: int) -> None:
    """Show the answer counts of a step on the wall page. Raises Rejected."""
    _change(live_class, lambda now: setattr(now, "bars_shown", sorted({*now.bars_shown, step})))


def show_page(live_class: LiveClass, address: str) -> None:
    """Show a page of the run. Raises Rejected."""
    _change(live_class, lambda now: setattr(now, "address", address))


def close(live_class: LiveClass) -> None:
    """Close the class: students can no longer join, answer or see the run. Raises Rejected."""

    def end(now: LiveClass) -> None:
        now.closed_at = timezone.now()
        if now.share is not None:
            now.share.delete()
            now.share = None

    _change(live_class, end)


@transaction.atomic
def _change(live_class: LiveClass, change: Callable[[LiveClass], None]) -> None:
    now = LiveClass.objects.select_for_update().get(pk=live_class.pk)
    if not now.live:
        raise Rejected(OVER)
    before = (now.step, list(now.revealed), list(now.bars_shown), now.address, now.closed_at)
    change(now)
    if (now.step, now.revealed, now.bars_shown, now.address, now.closed_at) != before:
        now.version += 1
        now.save(update_fields=["step", "revealed", "bars_shown", "address", "closed_at", "share", "version"])
        publisher.publish_after_commit(now.pk)
