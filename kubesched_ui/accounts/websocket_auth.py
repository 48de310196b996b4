"""Authentication of websockets by their session or token, repeated at each check."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from channels.sessions import CookieMiddleware
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from kubesched_ui.accounts import access, share_links, tokens
from kubesched_ui.accounts.access import Viewer
from kubesched_ui.models import Run
from kubesched_ui.web.client_address import address_of_scope

Application = Callable[[Any, Any, Any], Awaitable[Any]]


class SessionCookieMiddleware:
    """Reads the cookies of a websocket, by which `may_watch` finds its user."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.with_cookies = CookieMiddleware(application)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        return await (self.with_cookies if settings.ACCOUNTS else self.application)(scope, receive, send)


def may_watch(number: int, scopes: Sequence[dict[str, Any]], model: type[Any] = Run) -> list[bool]:
    """Return for each websocket whether its viewer may see the object now: still signed in, nothing revoked or expired.
    Sockets check this before they send anything, and then every second. It queries the database."""
    if not settings.ACCOUNTS:
        return [True] * len(scopes)
    found = viewers_of(scopes)
    yes = {who: access.can_view(who, model, number) for who in set(found)}
    return [yes[who] for who in found]


def viewers_of(scopes: Sequence[dict[str, Any]]) -> list[Viewer]:
    """Return the current viewer of each websocket. All sessions are read with one query, as are all users."""
    keys = [scope.get("cookies", {}).get(settings.SESSION_COOKIE_NAME, "") for scope in scopes]
    stored = Session.objects.filter(pk__in={key for key in keys if key}, expire_date__gt=timezone.now())
    sessions = {row.pk: SessionStore().decode(row.session_data) for row in stored}
    users = User.objects.in_bulk({int(one[SESSION_KEY]) for one in sessions.values() if SESSION_KEY in one})
    by_session = {key: of_session(one, users) for key, one in sessions.items()}
    return [by_token(scope) or by_session.get(key, Viewer()) for scope, key in zip(scopes, keys, strict=True)]


def of_session(session: dict[str, Any], users: dict[int, User]) -> Viewer:
    """Return the viewer of a session: its user, unless the password has changed since, and the opened links."""
    user = users.get(int(session.get(SESSION_KEY, 0)))
    opened = share_links.opened(session)
    if user is None or not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        return Viewer(links=opened)
    return access.viewer_of(user, opened)


def by_token(scope: dict[str, Any]) -> Viewer | None:
    """Return the viewer for an Authorization header: an anonymous one if the token is invalid, None if there is no
    header."""
    shown = dict(scope["headers"]).get(b"authorization")
    if shown is None:
        return None
    try:
        return tokens.viewer_of(shown.decode("latin1"), address_of_scope(scope))
    except tokens.Refused:
        return Viewer()
