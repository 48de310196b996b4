"""User groups: create, leave and delete groups; add members by user name, or invite them with a link."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.accounts import invitations, user_groups
from kubesched_ui.accounts.models import Group
from kubesched_ui.views.form_fields import name_in
from scheduler_core.errors import InputError


def find(request: HttpRequest, number: int, own: bool = False) -> Group:
    """Return a group of the user; with `own`, one that the user manages.

    Administrators can access all groups. Raises Http404.
    """
    user: Any = request.user
    rows = Group.objects.select_related("owner")
    if not user.is_superuser:
        rows = rows.filter(owner=user) if own else rows.filter(members=user)
    found = rows.filter(pk=number).first()
    if found is None:
        raise Http404(f"There is no group {number}.")
    return found


@require_http_methods(["GET", "POST"])
def groups(request: HttpRequest) -> HttpResponse:
    """List the user's groups; POST creates a group."""
    user: Any = request.user
    if request.method == "GET":
        return render(request, "user_groups.html", {"groups": user.sharing_groups.select_related("owner")})
    try:
        made = user_groups.make(user, name_in(request))
    except InputError as error:
        messages.error(request, error.problem)
        return redirect("people")
    return redirect("group-of-people", made.pk)


@require_GET
def group(request: HttpRequest, number: int) -> HttpResponse:
    """Show the members of a group, and what is shared with it."""
    return shown(request, find(request, number))


def shown(request: HttpRequest, found: Group, **more: Any) -> HttpResponse:
    """Render the group page. `more` may contain a new link, which is shown only once."""
    user: Any = request.user
    context = {
        "group": found,
        "members": found.members.order_by("username"),
        "manages": found.owner_id == user.pk or user.is_superuser,
        "shares": found.shares.live().select_related("scenario", "run", "owner")[:100],
    }
    return render(request, "user_group.html", context | more)


@require_POST
def add(request: HttpRequest, number: int) -> HttpResponse:
    """Add a user by user name."""
    found, name = find(request, number, own=True), name_in(request)
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        messages.error(request, f"There is no user {name!r}.")
        return redirect("group-of-people", number)
    try:
        user_groups.add(found, user)
    except InputError as error:
        messages.error(request, error.problem)
    return redirect("group-of-people", number)


@require_POST
def invite(request: HttpRequest, number: int) -> HttpResponse:
    """Create an invitation link and show it once."""
    found, user = find(request, number, own=True), request.user
    try:
        secret = invitations.make(user, found)  # type: ignore[arg-type]
    except InputError as error:
        messages.error(request, str(error))
        return redirect("group-of-people", number)
    return shown(request, found, link=request.build_absolute_uri(reverse("invitation", args=[secret])))


@require_POST
def remove(request: HttpRequest, number: int, user_id: int) -> HttpResponse:
    """Remove a member. Members can remove themselves; the manager cannot be removed."""
    user: Any = request.user
    found = find(request, number, own=user_id != user.pk)
    if user_id == found.owner_id:
        messages.error(request, "The manager cannot leave the group. Delete the group instead.")
        return redirect("group-of-people", number)
    found.members.remove(user_id)
    found.shares.filter(owner=user_id).delete()  # shares that the member created are deleted as well
    return redirect("people") if user_id == user.pk else redirect("group-of-people", number)


@require_POST
def delete(request: HttpRequest, number: int) -> HttpResponse:
    """Delete a group. Its members lose access to what was shared with it."""
    found: Any = find(request, number, own=True)
    found.delete()
    messages.info(
        request, f"The group “{found.name}” was deleted. Its members no longer have access to what was shared with it."
    )
    return redirect("people")
