"""The scheduler's configuration as it takes effect: what scores and how much, beside what the release has."""

from __future__ import annotations

from typing import Any

from kubesched_ui.composing.text import Text
from kubesched_ui.composing.things import Things
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.errors import InputError
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import NEWEST, Release, get_release


def release_of(text: Text, things: Things) -> Release:
    """The release that the scenario names, else the newest."""
    spec = _spec(text, things)
    try:
        return get_release(str(spec.get("kubernetes") or NEWEST))
    except InputError:
        return get_release(NEWEST)


def effective(text: Text, things: Things) -> dict[str, Any] | None:
    """{name, score: [{name, weight, usual}], profiles: how many} of the first profile; None where it cannot be read, or
    the release has predicates."""
    release = release_of(text, things)
    if release.predicates:
        return None
    held = text.documents[things.configs[-1]].value if things.configs else _spec(text, things).get("config")
    try:
        if isinstance(held, dict):
            held = to_yaml(held)
        configuration = load(held if isinstance(held, str) and held else None, release, unknown="leave_out")
    except InputError:
        return None
    first = configuration.profiles[0]
    usual = dict(load(None, release).profiles[0].plugins["score"])
    now = dict(first.plugins["score"])
    score = [
        {"name": name, "weight": now.get(name), "usual": usual.get(name)} for name in dict.fromkeys([*now, *usual])
    ]
    return {"name": first.scheduler_name, "score": score, "profiles": len(configuration.profiles)}


def _spec(text: Text, things: Things) -> dict[str, Any]:
    value = text.documents[things.scenario].value if things.scenario >= 0 else {}
    spec = value.get("spec")
    return spec if isinstance(spec, dict) else {}
