"""Pages that the sites of a setting may show in a frame."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

View = Callable[..., HttpResponse]


def embeddable(view: View) -> View:
    """Decorate a view that changes nothing. In a frame of another site, the browser sends no cookies, so its forms have
    no CSRF token."""

    @wraps(view)
    def framed(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if settings.EMBED_ORIGINS:
            allow_frames(response)
        return response

    return csrf_exempt(framed)


def allow_frames(response: Any) -> None:
    """Let the sites of EMBED_ORIGINS show a response in a frame."""
    response._csp_replace = {"frame-ancestors": settings.EMBED_ORIGINS}
    response.xframe_options_exempt = True
