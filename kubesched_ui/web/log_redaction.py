"""Redacts secrets in URLs before they are logged."""

import re

# The same URLs as in deploy/nginx.conf.template.
SECRET = re.compile(r"(/(?:shared|embed|account/invitation|classes|rooms|ws/(?:classes|rooms)/teach)/)[\w-]{20,}")


def hidden(text: str) -> str:
    """Return the text with the secrets of its URLs replaced by `...`."""
    return SECRET.sub(r"\1...", text)
