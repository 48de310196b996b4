"""What templates ask of accounts. Templates where there are no accounts load it, too, so it imports nothing of them."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings

from kubesched_ui import current_viewer

register = template.Library()


@register.simple_tag
def sign_in_with() -> dict[str, str] | None:
    """The OpenID Connect provider, as {id, name}."""
    providers: Any = settings.SOCIALACCOUNT_PROVIDERS
    for one in providers["openid_connect"]["APPS"]:
        return {"id": one["provider_id"], "name": one["name"]}
    return None


@register.simple_tag
def may_register() -> bool:
    """Whether everybody may make an account."""
    return settings.REGISTER == "open"


@register.simple_tag
def may(action: str, thing: Any) -> bool:
    """Whether who looks may `start` something of theirs from it, or do with it what its owner may (`own`)."""
    who = current_viewer.viewer()
    return who is None or who.may(action, thing)


@register.simple_tag
def others(thing: Any) -> str:
    """Whose it is, where it is somebody else's; "" else."""
    who = current_viewer.viewer()
    if who is None or thing.owner_id is None or thing.owner_id == who.owner_id:
        return ""
    return thing.owner.first_name or thing.owner.username
