"""Databases beside the tests' own: for a while one of them is the one that everything asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dj_database_url
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.utils import load_backend


@contextmanager
def instead(url: str, migrated: bool = True) -> Iterator[Any]:
    """The database at `url` is the default one inside."""
    usual = connections["default"]
    wanted = dj_database_url.parse(url)
    sqlite = wanted["ENGINE"].endswith("sqlite3")
    wanted["OPTIONS"] = settings.DATABASES["default"]["OPTIONS"] if sqlite else {}
    connections["default"] = other = type_of({**usual.settings_dict, **wanted})
    try:
        if migrated:
            call_command("migrate", verbosity=0)
        yield other
    finally:
        other.close()
        connections["default"] = usual


def type_of(options: dict[str, Any]) -> Any:
    """A connection that is not opened yet."""
    return load_backend(options["ENGINE"]).DatabaseWrapper(options, "default")
