"""Some addresses hold a secret: who reads logs is not who was sent a link."""

from __future__ import annotations

import re

# Those of deploy/nginx.conf.template.
SECRET = re.compile(r"(/(?:shared|account/invitation|rooms|ws/rooms/teach)/)[\w-]{20,}")


def hidden(text: str) -> str:
    """The text with the secrets of addresses left out."""
    return SECRET.sub(r"\1...", text)
