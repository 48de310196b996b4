"""How a scheduler of before the framework is configured: by a Policy, or not at all."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler_core.config.configuration import Configuration
from scheduler_core.config.finding import find
from scheduler_core.config.policy import is_policy, read_policy
from scheduler_core.config.schema import KIND, POLICY
from scheduler_core.errors import InputError
from scheduler_core.legacy.policy import configuration_of
from scheduler_core.legacy.profile import default_configuration
from scheduler_core.releases import Release


def load_legacy(source: str | bytes | Mapping[str, Any] | None, release: Release) -> Configuration:
    """The configuration in `source`; None for the default algorithm provider. Raises InputError."""
    if source is None:
        return default_configuration(release)
    found, warnings = find(source)
    try:
        if not is_policy(found.raw):
            problem = f"{release.number} reads a {POLICY}, or no configuration; this is for newer releases"
            raise InputError(KIND, "apiVersion", problem)
        made = configuration_of(read_policy(found.raw, unknown_fields=True, grouped=False), release)
    except InputError as error:
        if found.place:
            error.where = f"{found.place}: {error.where}"
        raise
    return replace(made, warnings=[*warnings, *made.warnings])
