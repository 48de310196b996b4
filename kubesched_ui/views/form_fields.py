"""Parameters of requests that several pages have: a name, a pin, a number, the object of the URL."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest

from kubesched_ui.ingest.errors import printable
from kubesched_ui.models import MAX_NAME, Run, Scenario

M = TypeVar("M", bound=Model)
MAX_SECOND = 1e9  # of virtual time


def named(rows: QuerySet[M, Any], number: int) -> M:
    """Return the row with this number. Raises Http404."""
    found = rows.filter(pk=number).first()
    if found is None:
        raise Http404(f"There is no {rows.model._meta.verbose_name} {number}.")
    return found


def to_number(text: str) -> int | None:
    """Return a whole number of at most nine digits, and None for other texts."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def to_second(text: str) -> float | None:
    """Return seconds of virtual time, at least 0, and None for other texts."""
    try:
        second = float(text)
    except ValueError:
        return None
    return second if 0 <= second < MAX_SECOND else None


def name_in(request: HttpRequest) -> str:
    """Return the form's `name` on one line, without control characters and cut to the maximum length."""
    return printable(" ".join(request.POST.get("name", "").split()))[:MAX_NAME]


def pinned(thing: Run | Scenario, request: HttpRequest) -> None:
    """Pin or unpin the object according to the form's `pinned`."""
    thing.pinned = request.POST.get("pinned") == "1"
    thing.save(update_fields=["pinned"])
