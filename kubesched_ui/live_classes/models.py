"""Database models of live classes: the current step or page, students and answers. Sockets and pages only read them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from kubesched_ui.accounts.models import DIGEST, Share
from kubesched_ui.models import Run, owned

CODE = 8  # length of a code
LETTERS = "BCDFGHJKMNPQRSTVWXYZ23456789"  # no letters that look alike, and no vowels, so that a code is never a word
MAX_NICKNAME = 32
OVER = "This class is closed."
GONE = "This lesson no longer exists."
WRITTEN = "written/"  # begins the lesson of a class on a written lesson; no file name has a slash


class Rejected(Exception):
    """A rejected request: a message for the user and an HTTP status."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.status = status


class LiveClassQuerySet(models.QuerySet["LiveClass"]):
    """Queryset of live classes."""

    def live(self) -> LiveClassQuerySet:
        """Return the open live classes."""
        return self.filter(closed_at=None, expires_at__gt=timezone.now())


class LiveClass(models.Model):
    """A live class on a lesson or a run. `version` counts changes of what is shown, `answers_version` counts messages
    from students."""

    code = models.CharField(max_length=CODE, unique=True, help_text="Code that students enter to join.")
    digest = models.CharField(max_length=DIGEST, unique=True, editable=False, help_text="Hash of the teacher's key.")
    owner = owned("live_classes")
    lesson = models.CharField(max_length=200, blank=True, help_text="Name of the lesson file, or written/ID.")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="live_classes")
    share = models.ForeignKey(
        Share,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        help_text="Share through which students can view the run.",
    )
    step = models.PositiveSmallIntegerField(default=1)
    revealed = models.JSONField(default=list, help_text="Steps whose answer was revealed.")
    bars_shown = models.JSONField(default=list, help_text="Steps whose answer counts the wall page shows.")
    address = models.TextField(blank=True, help_text="For a class on a run: the shown page.")
    version = models.PositiveIntegerField(default=1)
    answers_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = LiveClassQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=(Q(run=None) & ~Q(lesson="")) | Q(run__isnull=False, lesson=""), name="lesson_or_run"
            )
        ]

    @property
    def live(self) -> bool:
        """Whether the live class is open."""
        return self.closed_at is None and self.expires_at > timezone.now()

    @property
    def has_copy(self) -> bool:
        """Whether the class is on a written lesson, of which it keeps a copy."""
        return self.lesson.startswith(WRITTEN)

    @property
    def opens_run(self) -> bool:
        """Whether students may open the run themselves: only if the teacher owns it."""
        return self.run is not None and self.run.owner_id == self.owner_id

    @property
    def spaced(self) -> str:
        """The code in two halves, easier to read aloud."""
        return f"{self.code[: CODE // 2]} {self.code[CODE // 2 :]}"


class LessonCopy(models.Model):
    """A written lesson and its scenario as they were when a live class on it began: a lesson file."""

    live_class = models.OneToOneField(LiveClass, on_delete=models.CASCADE, related_name="copy")
    text = models.TextField()


class StudentQuerySet(models.QuerySet["Student"]):
    """Queryset of students."""

    def there(self) -> StudentQuerySet:
        """Return the students that were not removed."""
        return self.filter(removed_at=None)


class Student(models.Model):
    """A student of a live class, identified by a secret in a cookie. For a removed student only the digest of this
    secret is kept, so that the cookie cannot be used to join again."""

    live_class = models.ForeignKey(LiveClass, on_delete=models.CASCADE, related_name="students")
    name = models.CharField(max_length=MAX_NICKNAME, blank=True)
    digest = models.CharField(
        max_length=DIGEST, unique=True, editable=False, help_text="Hash of the secret in the cookie."
    )
    joined_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = StudentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["live_class", "name"], condition=Q(removed_at=None), name="name_once_per_live_class"
            )
        ]


class Answer(models.Model):
    """A student's answer to a step's question. Only the first answer counts; the constraint rejects a second one."""

    student = models.ForeignKey(Student, on_delete=models.CASCADE, related_name="answers")
    step = models.PositiveSmallIntegerField()
    given = models.JSONField(help_text="A string, a list of strings or a number.")
    right = models.BooleanField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["student", "step"], name="answer_once_per_step")]
