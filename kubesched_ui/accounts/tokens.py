"""API tokens. A token is shown once and stored as a hash. The number of invalid attempts per minute and address is
limited. A valid token is always accepted: it has 256 random bits, and others may share the address."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kubesched_ui.accounts import access, audit, rate_limits, token_hash
from kubesched_ui.accounts.access import Viewer
from kubesched_ui.accounts.models import Token, current
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.errors import InputError

TRIES = rate_limits.Limit("token", 20, 60)
USED_EVERY = timedelta(minutes=1)  # minimum interval between two updates of `used_at`


class Refused(Exception):
    """Raised with a sentence that explains why a token is rejected. `status`: the HTTP status of the response."""

    def __init__(self, message: str, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


def make(user: User, name: str, scope: str = Token.Scope.READ, until: datetime | None = None) -> tuple[Token, str]:
    """Return a new token and its secret, which is not stored. Raises InputError."""
    if not name:
        raise InputError("Token", "name", "is required")
    if scope not in Token.Scope.values:
        raise InputError("Token", "scope", f"must be one of {', '.join(Token.Scope.values)}")
    secret = token_hash.new(token_hash.PREFIX)
    with transaction.atomic():
        lock_until_commit(f"tokens of user {user.pk}")
        if user.api_tokens.count() >= Token.MOST:
            raise InputError("Token", "", f"you already have {Token.MOST} tokens; revoke some of them")
        made = user.api_tokens.create(name=name, digest=token_hash.digest(secret), scope=scope, expires_at=until)
    return made, secret


def viewer_of(header: str, address: str) -> Viewer:
    """Return the viewer for an Authorization header. Raises Refused."""
    kind, _, secret = header.partition(" ")
    if kind.lower() != "bearer":
        raise Refused("The Authorization header must be: Bearer TOKEN.")
    found = Token.objects.select_related("user").filter(current(), digest=token_hash.digest(secret.strip())).first()
    if found is None or not found.user.is_active:
        if TRIES.reached(address):
            raise Refused("Too many invalid tokens. Try again in a minute.", 429)
        TRIES.count(address)
        raise Refused("Invalid token. It may have been revoked or have expired.")
    note_use(found, address)
    return access.viewer_of(found.user, writes=found.scope == Token.Scope.WRITE)


def note_use(token: Token, address: str) -> None:
    """Record the time of the last use, to the minute. The first use also goes to the audit log."""
    now = timezone.now()
    if token.used_at is None:
        audit.note(token.user, "token used first", token.name, address)
    elif now - token.used_at < USED_EVERY:
        return
    Token.objects.filter(pk=token.pk).update(used_at=now)
