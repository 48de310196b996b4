"""The owner of rows, and which rows the current viewer may see."""

from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from kubesched_ui.models import current_viewer

MAX_NAME = 200


def owned(related_name: str) -> models.ForeignKey:
    """Return a foreign key to the owner: the user who creates the row. Rows of a deleted user stay, for
    administrators."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        default=current_viewer.owner_id,
        on_delete=models.SET_NULL,
        editable=False,
        related_name=related_name,
        help_text="Creator; null for samples and without accounts.",
    )


_M = TypeVar("_M", bound=models.Model, covariant=True)
_Q = TypeVar("_Q", bound="models.QuerySet[Any]")


class VisibleManager(models.Manager[_M]):
    """Manager that returns the rows that the current viewer may see: lists, counts, searches and related rows use it. A
    foreign key (`run.parent`) does not use it: call `shows_parent`."""

    def get_queryset(self) -> models.QuerySet[_M]:
        return current_viewer.visible(super().get_queryset())


def with_words(rows: _Q, text: str, *lookups: str, numbers: bool = False) -> _Q:
    """Return the rows of which a field has each word of `text`, as its lookup says, or with `numbers` their number."""
    for word in text.replace("\0", "").split():
        found = Q(*((lookup, word) for lookup in lookups), _connector=Q.OR)
        rows = rows.filter(found | Q(pk=int(word)) if numbers and is_number(word) else found)
    return rows


def is_number(word: str) -> bool:
    """Return whether a search term may be the number of a row."""
    return word.isascii() and word.isdecimal() and len(word) < 19
