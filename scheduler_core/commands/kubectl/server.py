"""Asks a KubeSched server, which follows the cluster, instead of reading the cluster."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from scheduler_core.errors import InputError
from scheduler_core.live.decode import shortened
from scheduler_core.live.transport import TransportError
from scheduler_core.pending_pods.pending_answer import PendingAnswer, PendingDetails

TOKEN = "KUBESCHED_TOKEN"  # environment
TIMEOUT = 30.0
MAX_BYTES = 64_000_000
PAGE = 500
LOCAL = ("localhost", "127.0.0.1", "::1")


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another address."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


class Server:
    """The API of a server. `token_file`: a file with the token; None for the environment. Raises InputError."""

    def __init__(self, url: str, token_file: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("--server", "", f"must be an http or https address, got {url[:200]!r}")
        if parts.username or parts.query or parts.fragment:
            raise InputError(
                "--server", "", "must be an address alone; the token is read from KUBESCHED_TOKEN or a file"
            )
        self.url = url.rstrip("/")
        self._token = _token(token_file)
        if self._token and parts.scheme == "http" and parts.hostname not in LOCAL:
            raise InputError("--server", "", "must be https: the token would be sent unencrypted")
        self._open = urllib.request.build_opener(_RefuseRedirects).open

    def cluster(self, name: str) -> dict[str, Any]:
        """Return the cluster with this name or connection; without a name, the only one. Raises InputError."""
        found: list[dict[str, Any]] = self._get("/api/clusters", limit=PAGE)
        matching = [one for one in found if name in ("", one["name"], one["connection"])]
        if len(matching) == 1:
            return matching[0]
        names = ", ".join(one["name"] for one in found) or "none"
        problem = f"the server has no cluster of this name; there are: {names}"
        if not name or matching:
            problem = f"must name one of the server's clusters: {names}"
        raise InputError(f"--context {name}".strip(), "", problem)

    def pending(self, cluster: int, namespace: str) -> list[PendingAnswer]:
        """Return the stored answers for the pending pods of a namespace; "" for all."""
        found: list[PendingAnswer] = []
        while True:
            path = f"/api/clusters/{cluster}/pending"
            page = self._get(path, namespace=namespace, limit=PAGE, offset=len(found))
            found += [answer_of(row) for row in page["pods"]]
            if not page["pods"] or len(found) >= page["count"]:
                return found

    def why(self, cluster: int, key: str) -> PendingAnswer:
        """Return the stored answer for a pod. Raises InputError if no such pod is pending."""
        namespace, _, name = key.partition("/")
        path = f"/api/clusters/{cluster}/pods/{quote(namespace, safe='')}/{quote(name, safe='')}/why"
        try:
            return answer_of(self._get(path))
        except LookupError:
            raise InputError(f"Pod {key}", "", "is not pending, or does not exist") from None

    def page(self, cluster: int, key: str = "") -> str:
        """Return the address of a cluster's page, or of the page of a pod."""
        if not key:
            return f"{self.url}/clusters/{cluster}/"
        return f"{self.url}/clusters/{cluster}/pods/{quote(key)}/"

    def _get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a response. Raises LookupError for 404, TransportError for any other failure."""
        given = {name: value for name, value in query.items() if value not in ("", 0)}
        request = urllib.request.Request(f"{self.url}{path}?{urlencode(given)}" if given else f"{self.url}{path}")
        request.add_header("Accept", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._open(request, timeout=TIMEOUT) as response:
                return json.loads(response.read(MAX_BYTES))
        except urllib.error.HTTPError as problem:
            if problem.code == 404:
                raise LookupError from None
            raise TransportError(f"{self.url} answers {problem.code}: {_message(problem)}") from None
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "reason", problem)
            raise TransportError(f"{self.url} cannot be reached: {shortened(str(reason))}") from None


def answer_of(row: dict[str, Any]) -> PendingAnswer:
    """Return the answer of a row of the API. Raises TransportError if this version does not know its format."""
    key = row["pod"]
    kind, found, _ = key.rpartition("/")[2].partition(" ")
    subject = kind if found else "Pod"
    try:
        details = msgspec.convert(row["details"] or {}, PendingDetails)
        return PendingAnswer(
            key, row["category"] or "not asked", row["cause"], row["sentence"] or "No answer yet.", subject, details
        )
    except (msgspec.ValidationError, KeyError) as problem:
        raise TransportError(f"The answer of the server cannot be read: {shortened(str(problem))}") from None


def _token(file: str | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "").strip()
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "is not text"
        raise InputError(file, "", f"cannot be read: {reason}") from None


def _message(problem: urllib.error.HTTPError) -> str:
    try:
        found = json.loads(problem.read(100_000))
        return shortened(str(found.get("error") or found.get("detail") or problem.reason))
    except (ValueError, AttributeError, OSError):
        return shortened(str(problem.reason))
