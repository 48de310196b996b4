"""Loads the configuration of a scheduler of any release. Without the scheduling framework (1.16) it is a Policy,
v1alpha1 or the default algorithm provider."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler_core.config import Configuration, Unknown, load_configuration
from scheduler_core.config.component_config import read_component
from scheduler_core.config.discovery import find
from scheduler_core.config.policy import is_policy, read_policy
from scheduler_core.config.policy_1_16 import configuration_of
from scheduler_core.config.profile_1_16 import default_profile
from scheduler_core.errors import InputError
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import Release


def load(
    source: str | bytes | Mapping[str, Any] | None,
    release: Release,
    registry: Mapping[str, type[fwk.Plugin]] = PLUGINS,
    unknown: Unknown = "error",
) -> Configuration:
    """Load the configuration in `source` for the release; None for its default. Raises InputError.

    `registry`: the available plugins. `unknown`: as in `load_configuration`.
    """
    if not release.predicates:
        return load_configuration(source, release, known=known_plugins(registry), unknown=unknown)
    if source is None:
        return Configuration(profiles=[default_profile(release)])
    found, warnings = find(source)
    try:
        if is_policy(found.raw):
            made = configuration_of(read_policy(found.raw, unknown_fields=True, grouped=False), release)
        else:
            made = read_component(found.raw, release)
    except InputError as error:
        if found.place:
            error.where = f"{found.place}: {error.where}"
        raise
    return replace(made, warnings=[*warnings, *made.warnings])
