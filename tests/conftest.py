"""Fixtures for all tests."""

from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connections


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A database of its own in a file, not in memory: threads and processes of one test see the same rows."""
    database = connections["default"].settings_dict
    if database["ENGINE"].endswith("sqlite3"):
        name = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
        database["TEST"]["NAME"] = name


@pytest.fixture(autouse=True)
def in_process(settings) -> None:  # type: ignore[no-untyped-def]
    """Uploads are read in the test's own process, inside its transaction, unless a test asks otherwise."""
    settings.INGEST_ISOLATED = False


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The project's root."""
    return Path(django_settings.BASE_DIR)
