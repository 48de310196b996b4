"""The user's account: name, password, tokens, sessions and audit log. Administrators also manage invitations here."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.accounts import audit, invitations, sessions, tokens
from kubesched_ui.accounts.models import Invitation, Token, current
from kubesched_ui.views.form_fields import name_in
from kubesched_ui.web.client_address import address_of
from scheduler_core.errors import InputError

ROWS = 100
SPANS = {"": "never", "1": "in a day", "7": "in a week", "30": "in 30 days", "365": "in a year"}


def until(request: HttpRequest) -> datetime | None:
    """Return the expiry date that a form requests, or None for never. Raises InputError."""
    days = request.POST.get("days", "")
    if days not in SPANS:
        raise InputError("Form", "days", f"must be one of {', '.join(SPANS)}")
    return timezone.now() + timedelta(days=int(days)) if days else None


@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """Show the account page."""
    return shown(request)


def shown(request: HttpRequest, **more: Any) -> HttpResponse:
    """Render the account page. `more` may contain a new secret, which is shown only once."""
    user: Any = request.user
    sessions.note(request, user)
    context = {
        "tokens": user.api_tokens.all(),
        "scopes": Token.Scope.choices,
        "spans": SPANS.items(),
        "sessions": sessions.sessions(user),
        "this": request.session.session_key,
        "groups": user.sharing_groups.select_related("owner"),
    }
    return render(request, "account.html", context | more)


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Change the display name. The user name for signing in does not change."""
    user: Any = request.user
    user.first_name = name_in(request)[:150]
    user.save(update_fields=["first_name"])
    return redirect("account")


@require_POST
def make_token(request: HttpRequest) -> HttpResponse:
    """Create a token and show it once."""
    user: Any = request.user
    try:
        made, secret = tokens.make(user, name_in(request), request.POST.get("scope", Token.Scope.READ), until(request))
    except InputError as error:
        messages.error(request, f"The token was not created. {error}")
        return redirect("account")
    return shown(request, made=made, secret=secret)


@require_POST
def drop_token(request: HttpRequest, number: int) -> HttpResponse:
    """Revoke a token."""
    user: Any = request.user
    get_object_or_404(user.api_tokens, pk=number).delete()
    messages.info(request, "Token revoked.")
    return redirect("account")


@require_POST
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End all sessions of the user, including this one."""
    user: Any = request.user
    sessions.end_all(user)
    logout(request)
    return redirect("account_login")


@require_GET
def log(request: HttpRequest) -> HttpResponse:
    """Show the user's audit log. With `everybody=1`, administrators see the log of all users."""
    user: Any = request.user
    everybody = user.is_superuser and request.GET.get("everybody") == "1"
    rows = audit.entries(None if everybody else user)
    if q := request.GET.get("q", "").replace("\0", "")[:200].strip():
        rows = rows.filter(did__icontains=q) | rows.filter(what__icontains=q) | rows.filter(name__icontains=q)
    page = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    heading = "Audit log" if everybody else "Activity"
    return render(request, "audit.html", {"page": page, "everybody": everybody, "heading": heading, "q": q})


# ---- invitations


@require_GET
def invited(request: HttpRequest) -> HttpResponse:
    """List unused invitations to create an account."""
    return waiting(request)


def waiting(request: HttpRequest, **more: Any) -> HttpResponse:
    """Render the list of invitations. `more` may contain a new link, which is shown only once."""
    rows = Invitation.objects.filter(current(), kind=Invitation.Kind.PERSON, used_at=None).select_related("made_by")
    return render(request, "invitations.html", {"invitations": rows[:ROWS], "days": invitations.DAYS} | more)


@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    """Create an invitation and show its link once."""
    user: Any = request.user
    try:
        secret = invitations.make(user, note=name_in(request))
    except InputError as error:
        messages.error(request, str(error))
        return redirect("invitations")
    return waiting(request, link=request.build_absolute_uri(reverse("invitation", args=[secret])))


@require_POST
def uninvite(request: HttpRequest, number: int) -> HttpResponse:
    """Revoke an invitation."""
    get_object_or_404(Invitation, pk=number, used_at=None).delete()
    messages.info(request, "Invitation revoked.")
    return redirect("invitations")


def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Open an invitation link: create an account, or join a group."""
    found = invitations.find(token)
    if found is None:
        raise Http404(invitations.OVER)
    user: Any = request.user
    if found.kind != Invitation.Kind.GROUP:
        request.session[invitations.KEY] = found.pk
        return redirect("account_signup")
    if not user.is_authenticated:
        return redirect(f"{reverse('account_login')}?next={request.path}")
    if request.method != "POST":
        return render(request, "join.html", {"group": found.group})
    invitations.accept(found, user)
    audit.note(user, "join group", str(found.group), address_of(request))
    return redirect("group-of-people", found.group_id)
