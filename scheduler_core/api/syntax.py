"""Syntax of names, label values and durations in the Kubernetes API.

Upstream: apimachinery/pkg/util/validation, Go's time.ParseDuration.
"""

import re

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def qualified_name_problem(name: str) -> str:
    """Return the problem of a label key or resource name such as `example.com/gpu`; "" if it is valid."""
    prefix, slash, base = name.rpartition("/")
    if not name:
        return "must not be empty"
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return "must have a DNS subdomain before '/'"
    if len(base) > 63 or not _NAME.fullmatch(base):
        return "must be at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
    return ""


def label_value_problem(value: str) -> str:
    """Return the problem of a label value; "" if it is valid."""
    if value and (len(value) > 63 or not _NAME.fullmatch(value)):
        return "must be at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
    return ""


def extended_resource_problem(name: str) -> str:
    """Return why a name is not that of an extended resource; "" if it is one."""
    if problem := qualified_name_problem(name):
        return problem
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests.") or qualified_name_problem(f"requests.{name}"):
        return "must be an extended resource such as example.com/gpu"
    return ""


def go_duration(text: str) -> float | None:
    """Return the seconds of a Go duration such as `1m30s`; None if it is invalid."""
    if not _DURATION.fullmatch(text):
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    return -seconds if text.startswith("-") else seconds


def shown(value: str) -> str:
    """Return a text quoted for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
