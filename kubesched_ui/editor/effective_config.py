"""The effective scheduler configuration: score plugins and their weights, compared with the release's default."""

from __future__ import annotations

from typing import Any

from kubesched_ui.editor.config_validation import load_configuration
from kubesched_ui.editor.object_index import ObjectIndex
from kubesched_ui.editor.yaml_documents import Text
from scheduler_core.config import APPENDING, Profile
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, Release, get_release


def release_of(text: Text, things: ObjectIndex) -> Release:
    """Return the release that the scenario names, else the newest."""
    spec = _spec(text, things)
    try:
        return get_release(str(spec.get("kubernetes") or NEWEST))
    except InputError:
        return get_release(NEWEST)


def effective_scores(text: Text, things: ObjectIndex) -> dict[str, Any] | None:
    """Return {profiles: [{name, score: [{name, weight, usual}]}], appends}, or None if the configuration cannot be
    read or the release uses predicates.

    `usual`: the release's default weight. `appends`: whether enabling a default plugin again requires disabling it
    as well.
    """
    release = release_of(text, things)
    if release.predicates:
        return None
    held = text.documents[things.configs[-1]].value if things.configs else _spec(text, things).get("config")
    version = str(held.get("apiVersion")).rpartition("/")[2] if isinstance(held, dict) else ""
    try:
        configuration = load_configuration(held if isinstance(held, dict | str) else None, release)
    except InputError:
        return None
    usual = dict(load_configuration(None, release).profiles[0].plugins["score"])
    profiles = [
        {"name": profile.scheduler_name, "score": _scores(profile, usual)} for profile in configuration.profiles
    ]
    return {"profiles": profiles, "appends": version in APPENDING}


def _scores(profile: Profile, usual: dict[str, int]) -> list[dict[str, Any]]:
    now = dict(profile.plugins["score"])
    return [{"name": name, "weight": now.get(name), "usual": usual.get(name)} for name in dict.fromkeys([*now, *usual])]


def _spec(text: Text, things: ObjectIndex) -> dict[str, Any]:
    value = text.documents[things.scenario].value if things.scenario >= 0 else {}
    spec = value.get("spec")
    return spec if isinstance(spec, dict) else {}
