"""Origins that may send writes and open websockets."""

import pytest
from django.test import Client

from kubesched_ui.web.origin_check import is_ours, welcome

HOST = "localhost:8000"
ODD = [
    "http://[",
    "http://[::1",
    "http://]",
    "//",
    "",
    "null",
    "http://\u00e9",
    "http://localhost:99999999",
    "http://a b",
]


@pytest.mark.parametrize(
    ("origin", "ours"),
    [
        ("http://localhost:8000", True),
        ("HTTP://LOCALHOST:8000", True),
        ("https://localhost:8000", False),
        ("http://localhost:8001", False),
        ("http://localhost", False),
        ("http://localhost:8000.evil.example", False),
        ("http://evil.example", False),
        *((odd, False) for odd in ODD),
    ],
)
def test_scheme_name_and_port_are_compared(origin: str, ours: bool) -> None:
    assert is_ours(origin, "http", HOST) is ours
    scope = {"scheme": "ws", "headers": [(b"host", HOST.encode()), (b"origin", origin.encode())]}
    assert welcome(scope) is ours


def test_origins_of_the_setting_are_accepted(settings) -> None:  # type: ignore[no-untyped-def]
    settings.CSRF_TRUSTED_ORIGINS = ["https://a.example", "https://*.b.example"]
    for origin, ours in (("https://a.example", True), ("https://x.b.example", True), ("https://c.example", False)):
        assert is_ours(origin, "http", HOST) is ours


@pytest.mark.parametrize("odd", [*ODD, "http://evil.example"])
@pytest.mark.parametrize("address", ["/upload/", "/api/scenarios"])
def test_an_unusual_origin_is_rejected(client: Client, address: str, odd: str) -> None:
    """Without a database query, so that nothing is stored."""
    answer = client.post(address, {"text": "x"}, headers={"origin": odd})
    assert answer.status_code == 403
    assert "another site" in answer.json()["error"]


@pytest.mark.django_db
def test_pages_of_the_product_may_write(client: Client) -> None:
    answer = client.post("/upload/", {"text": "x"}, headers={"origin": "http://localhost"})
    assert answer.status_code == 400, "read, and refused for what it holds"


def test_a_foreign_name_for_this_address_may_not_connect() -> None:
    own = [(b"host", b"evil.example"), (b"origin", b"http://evil.example")]
    assert not welcome({"scheme": "ws", "headers": own})


def test_programs_send_no_origin() -> None:
    assert welcome({"scheme": "ws", "headers": [(b"host", b"somewhere")]})


def test_an_origin_behind_a_tls_proxy_is_accepted(settings) -> None:  # type: ignore[no-untyped-def]
    headers = [(b"host", b"localhost"), (b"origin", b"https://localhost"), (b"x-forwarded-proto", b"https")]
    assert not welcome({"scheme": "ws", "headers": headers}), "whose word counts where that is set"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert welcome({"scheme": "ws", "headers": headers})
    assert not welcome({"scheme": "ws", "headers": headers[:2]})
    assert welcome({"scheme": "wss", "headers": headers[:2]})
