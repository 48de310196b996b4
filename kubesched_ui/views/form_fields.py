"""Form fields shared by runs and scenarios: name and pin."""

from django.http import HttpRequest

from kubesched_ui.ingest.errors import printable
from kubesched_ui.models import MAX_NAME, Run, Scenario


def name_in(request: HttpRequest) -> str:
    """Return the form's `name` on one line, without control characters and cut to the maximum length."""
    return printable(" ".join(request.POST.get("name", "").split()))[:MAX_NAME]


def pinned(thing: Run | Scenario, request: HttpRequest) -> None:
    """Pin or unpin the object according to the form's `pinned`."""
    thing.pinned = request.POST.get("pinned") == "1"
    thing.save(update_fields=["pinned"])
