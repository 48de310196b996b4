"""A clip of a run as a download: one HTML file that plays without a server (docs/sharing.md)."""

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET

from kubesched_ui.models import Run
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.views import clip_context, errors
from kubesched_ui.views.errors import readable
from kubesched_ui.views.runs import find


@require_GET
@readable
def clip(request: HttpRequest, run_id: int) -> HttpResponse:
    """Return a stretch of the run as a file."""
    run = find(run_id)
    try:
        text = within_limit(request, run)
    except NotRecorded as error:
        raise Http404(str(error)) from None
    if text is None:
        return errors.page(request, 413, "The cluster is too large for a clip. Save a picture, or copy the link.")
    response = HttpResponse(text, content_type="text/html; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="run-{run_id}-clip.html"'
    return response


def within_limit(request: HttpRequest, run: Run) -> bytes | None:
    """Return the file with as many of the requested cycles as fit, or None if not even one does."""
    most = clip_context.MOST_CYCLES
    while True:
        context = clip_context.context(run, request.GET, most)
        context["source"] = request.build_absolute_uri(f"{reverse('run', args=[run.pk])}?{context['at']}#map")
        text = render_to_string("clip.html", context, request).encode()
        number = context["stretch"].number
        if len(text) <= clip_context.MOST_BYTES:
            return text
        if number == 1:
            return None
        most = max(1, min(number - 1, number * clip_context.MOST_BYTES // len(text)))
