"""How a scheduler of before the framework is configured: by a Policy, or not at all."""

from collections.abc import Mapping
from typing import Any

from scheduler_core.config.configuration import Configuration
from scheduler_core.errors import InputError
from scheduler_core.legacy.profile import default_configuration
from scheduler_core.releases import Release


def load_legacy(source: str | bytes | Mapping[str, Any] | None, release: Release) -> Configuration:
    """The configuration in `source`; None for the default algorithm provider. Raises InputError."""
    if source is None:
        return default_configuration(release)
    raise InputError("configuration", "", f"{release.number} is configured by a Policy")
