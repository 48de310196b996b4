"""Texts of other programs lose what may be a credential, and nothing else that a person needs."""

from __future__ import annotations

import pytest

from scheduler_core.live.redaction import MAX_LENGTH, MAX_READ, redacted

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"
BASE64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkw"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Authorization: Bearer {JWT}", "Authorization: Bearer ..."),
        (f"got {JWT} back", "got ... back"),
        ("authorization: Basic YWRhOnBhc3M= sent", "authorization: Basic ... sent"),
        ("refresh_token=abc, retry", "refresh_token=..., retry"),
        ('{"client_secret": "abc"}', '{"client_secret": "..."}'),
        ("password: hunter2 was refused", "password: ... was refused"),
        ("dial https://ada:hunter2@proxy:3128 failed", "dial https://...proxy:3128 failed"),
        (f"key {BASE64} is wrong", "key ... is wrong"),
        ("digest 0123456789abcdef0123456789abcdef", "digest ..."),
        ("-----BEGIN RSA PRIVATE KEY----- abc", "..."),
        ("first line token=a\nlast line\n\n", "last line"),
        # What a person needs to read stays.
        ('context "gke_my-project_europe-west1-b_my-cluster-name" does not exist',) * 2,
        ("arn:aws:eks:us-east-1:123456789012:cluster/Production is unknown",) * 2,
        ("exec: executable /usr/local/bin/aws-iam-authenticator failed with exit code 1",) * 2,
        ("dial tcp 10.0.0.1:6443: connect: connection refused",) * 2,
        ("open /home/ada/.kube/certificates/kubernetes-admin.crt: no such file or directory",) * 2,
        ("the token has expired",) * 2,
        ("", ""),
    ],
)
def test_credentials_are_replaced(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_no_half_of_a_credential_is_left_at_the_end() -> None:
    text = f"{JWT} " * (MAX_READ // len(JWT) - 2)
    text += "x " * ((MAX_READ - 10 - len(text)) // 2) + BASE64
    assert redacted(text).endswith("x")


@pytest.mark.parametrize("part", ["token", "-token", "bearer", "://", "aA1", "eyJ.", "-----BEGIN "])
def test_repeated_parts_take_no_quadratic_time(part: str) -> None:
    redacted(part * 50_000)  # took a minute


def test_long_texts_are_shortened() -> None:
    assert len(redacted("a b " * 1000)) == MAX_LENGTH + 3
