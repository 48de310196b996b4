"""Removes credentials from the texts of other programs: error output of kubectl and of credential plugins."""

import re

from scheduler_core.api.text_checks import escaped

MAX_LENGTH = 300
MAX_READ = 2000
_SECRET = re.compile(
    r"""
    (?P<head>(?i: \b(?:bearer|basic)\s+
        | (?:token|password|passwd|secret|assertion|api-?key)["']?\s*[:=]\s*["']?))[^\s"',]+
    | (?P<scheme>://)[^/\s@]*@                  # user and password of a URL
    | \beyJ[\w.=-]+                             # JSON Web Tokens
    | (?=[\w+=-]*\d)(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])[\w+=-]{24,}  # base64
    | \b[0-9a-fA-F]{32,}\b
    | -----BEGIN\s.*""",
    re.X,
)  # fmt: skip


def redacted(text: str) -> str:
    """Return the last line of a text, shortened, with "..." instead of what may be a credential, and with escapes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = lines[-1] if lines else ""
    if len(line) > MAX_READ:
        line = line[:MAX_READ].rpartition(" ")[0]  # not half of a credential
    line = _SECRET.sub(lambda found: f"{found['head'] or found['scheme'] or ''}...", line)
    return escaped(line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}...")
