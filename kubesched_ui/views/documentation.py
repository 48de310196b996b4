"""The pages of the documentation."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kubesched_ui.documentation import markdown_pages


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """List the pages by group."""
    return render(request, "docs.html", {"groups": markdown_pages.groups()})


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page with its contents, and links to the previous and next ones."""
    pages = markdown_pages.pages()
    if name not in pages:
        raise Http404("There is no documentation of this name. The contents list all pages.")
    order = list(pages.values())
    at = order.index(pages[name])
    context = {"page": pages[name], "before": order[at - 1] if at else None, "after": next(iter(order[at + 1 :]), None)}
    return render(request, "doc.html", context)


@require_GET
def file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Return a file that a page links to or shows."""
    found = markdown_pages.files().get(path)
    if found is None:
        raise Http404("The documentation has no file of this name.")
    return FileResponse(found.open("rb"), content_type=markdown_pages.TYPES[found.suffix])
