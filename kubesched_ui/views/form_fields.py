"""What people write on runs and scenarios: names, and that they stay."""

from django.http import HttpRequest

from kubesched_ui.ingest.errors import printable
from kubesched_ui.models import MAX_NAME, Run, Scenario


def name_in(request: HttpRequest) -> str:
    """The form's `name`: on one line, without control characters, no longer than is stored."""
    return printable(" ".join(request.POST.get("name", "").split()))[:MAX_NAME]


def pinned(thing: Run | Scenario, request: HttpRequest) -> None:
    """Pins the thing, or no longer, as the form's `pinned` says."""
    thing.pinned = request.POST.get("pinned") == "1"
    thing.save(update_fields=["pinned"])
