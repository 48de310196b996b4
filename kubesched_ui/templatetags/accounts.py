"""Template tags about accounts. Templates also load this module without accounts, so it imports none of their
modules."""

from typing import Any

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

from kubesched_ui.models import current_viewer

register = template.Library()


@register.simple_tag
def sign_in_with() -> dict[str, str] | None:
    """Return the OpenID Connect provider as {id, name}; None if there is none."""
    providers: Any = settings.SOCIALACCOUNT_PROVIDERS
    for one in providers["openid_connect"]["APPS"]:
        return {"id": one["provider_id"], "name": one["name"]}
    return None


@register.simple_tag
def may_register() -> bool:
    """Return whether everyone may create an account."""
    return settings.REGISTER == "open"


@register.simple_tag
def may(action: str, thing: Any) -> bool:
    """Return whether the viewer may `start` their own work from an object, or act on it as its owner (`own`)."""
    who = current_viewer.viewer()
    return who is None or who.has_permission(action, thing)


@register.simple_tag
def shared_by(thing: Any) -> SafeString | str:
    """Return a badge with the name of the owner if it is another user; otherwise ""."""
    who = current_viewer.viewer()
    if who is None or thing.owner_id is None or thing.owner_id == who.owner_id:
        return ""
    return format_html('<span class="badge live">shared by {}</span>', thing.owner.first_name or thing.owner.username)
