"""Additional databases: one of them replaces the default database for a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dj_database_url
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.utils import load_backend


@contextmanager
def default_database(url: str, migrated: bool = True) -> Iterator[Any]:
    """Use the database at `url` as the default one inside the block."""
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
    """Return a connection that is not open yet."""
    return load_backend(options["ENGINE"]).DatabaseWrapper(options, "default")
