"""Names that people give to runs and scenarios."""

from django.http import HttpRequest

from kubesched_ui.ingest.errors import printable
from kubesched_ui.models import MAX_NAME


def name_in(request: HttpRequest) -> str:
    """The form's `name`: on one line, without control characters, no longer than is stored."""
    return printable(" ".join(request.POST.get("name", "").split()))[:MAX_NAME]
