"""The HTTP API, one module per resource. Its documentation is served at /api/docs.

Every error response is JSON, {"error": a sentence}, with a 4xx or 5xx status.
"""

from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI, Swagger
from ninja.errors import HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema, get_schema
from ninja.utils import replace_path_param_notation

from kubesched_ui.accounts.permissions import VISITORS, Permission, of_operations, permission
from kubesched_ui.api import (
    answers,
    clusters,
    compare,
    debugger,
    events,
    experiments,
    groups,
    messages,
    pods,
    provenance,
    remedies,
    runs,
    scenarios,
    time,
    upgrades,
)
from kubesched_ui.ingest import IngestError
from kubesched_ui.offload.pool import PoolBusy
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runtime.outages import ServiceUnavailable
from scheduler_core.config import UnknownPlugins, UnreadPolicy
from scheduler_core.errors import InputError
from scheduler_core.search.provenance import NotDecided
from scheduler_core.search.search import WrongExpression


class DocumentedAPI(NinjaAPI):
    """Makes its OpenAPI document once, which takes half a second of processor time."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        return document_below(path_prefix or self.get_root_path(path_params or {}))


@lru_cache(1)
def document_below(path_prefix: str) -> OpenAPISchema:
    return get_schema(api, path_prefix=path_prefix)


api = DocumentedAPI(
    title="KubeSched",
    version="1",
    description="Upload a cluster, run a scheduler on it and read every decision. Events are also streamed over the "
    "websocket at `/ws/runs/{id}` (see docs/websocket.md).",
    urls_namespace="api",
    docs_decorator=permission(read=VISITORS),
    # deep links would be nested in buttons, which the keyboard cannot reach
    docs=Swagger(settings={"deepLinking": False}),
)

permissions: dict[str, Permission] = {}  # route -> permission
resources = [scenarios, runs, events, pods, time, debugger, provenance, groups, compare, upgrades, remedies, clusters]
resources += [answers, experiments, messages]
for resource in resources:
    api.add_router("", resource.router)
    for path, view in resource.router.path_operations.items():
        route = replace_path_param_notation(path).removeprefix("/")
        permissions[route] = of_operations((operation.methods, operation.view_func) for operation in view.operations)


def urls() -> Any:
    """Return the URLs of the API, each with the permission that its operations declare."""
    found, app_name, namespace = api.urls
    for url in found:
        if required := permissions.get(str(url.pattern)):
            url.callback.permission = required  # type: ignore[union-attr]
    return found, app_name, namespace


def refusal(request: HttpRequest, problem: str, status: int, **more: Any) -> HttpResponse:
    """Return an error response {"error": problem, **more}."""
    return api.create_response(request, {"error": problem, **more}, status=status)


# Exception -> status, and the message of an exception without one.
ERRORS: dict[type, tuple[int, str]] = {
    InputError: (400, ""),
    IngestError: (400, ""),
    NotDecided: (404, ""),
    NotRecorded: (409, ""),
    PoolBusy: (503, ""),
    Http404: (404, "Nothing exists at this address."),
    BadRequest: (400, "The request is not valid."),
    MultiPartParserError: (400, "The request is not valid."),
    SuspiciousOperation: (400, "The request is not valid."),
}
# Exception -> its attributes that the response contains: the equivalent configuration, the place in the expression.
DETAILS: dict[type, tuple[str, ...]] = {UnreadPolicy: ("instead",), WrongExpression: ("line", "column")}


def answer_error(request: HttpRequest, error: Any) -> HttpResponse:
    status, message = next(ERRORS[kind] for kind in type(error).__mro__ if kind in ERRORS)
    details = {name: getattr(error, name) for name in DETAILS.get(type(error), ())}
    return refusal(request, str(error) or message, status, **details)


for kind in ERRORS:
    api.add_exception_handler(kind, answer_error)


@api.exception_handler(UnknownPlugins)
def unknown_plugins(request: HttpRequest, error: UnknownPlugins) -> HttpResponse:
    """Name the unknown plugins, and explain how to start the run without them."""
    named = [{"name": plugin.name, "what": plugin.what} for plugin in error.plugins]
    hint = "" if error.rest else '; "unknown_plugins": "leave_out" starts the run without them'
    return refusal(request, f"{error}{hint}", 400, unknown_plugins=named)


@api.exception_handler(ServiceUnavailable)
def service_unavailable(request: HttpRequest, error: ServiceUnavailable) -> HttpResponse:
    answer = refusal(request, str(error), 503)
    answer["Retry-After"] = str(error.outage.retry_after)
    return answer


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Name each invalid field and the reason."""
    problems = [f"{'.'.join(map(str, e['loc'][1:])) or e['loc'][0]}: {e['msg']}" for e in error.errors[:10]]
    return refusal(request, "; ".join(problems), 422, fields=problems)


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return refusal(request, str(error), error.status_code)


@api.exception_handler(RequestDataTooBig)
def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refusal(request, "The request body is too large.", 413)
