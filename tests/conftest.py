"""Fixtures for all tests. Hypothesis repeats the same examples in each run, however slow, and stores nothing."""

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.contenttypes.management import create_contenttypes
from django.core.management import call_command
from django.db import connections
from django.db.models.signals import post_migrate
from hypothesis import HealthCheck, settings

from scheduler_core.garbage_collection import freeze_objects
from tests.examples import SHARES, examples

for profile in SHARES:
    settings.register_profile(
        profile,
        derandomize=True,
        deadline=None,
        database=None,
        # Fixtures run once per test, not once per example. The tests do not depend on that.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
        max_examples=examples(100, profile),
    )
settings.load_profile("short")


def pytest_configure() -> None:
    """Disable garbage collection while pytest collects thousands of tests, which produces no garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt the collected tests from later garbage collections, which took a tenth of the processor time."""
    freeze_objects()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Exempt all objects from the collections at the end, which took seconds: the process ends."""
    freeze_objects()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the test database in a file, so that all threads and processes of a test see the same rows.

    Its tables are those of the models, because 30 migrations take seconds in each worker. `test_models` checks that the
    migrations are complete, and stored recordings are migrated from each version.
    """
    database = connections["default"].settings_dict
    if database["ENGINE"].endswith("sqlite3"):
        name = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
        database["TEST"] |= {"NAME": name, "MIGRATE": False}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Record the migrations, so that commands that migrate leave the tables as they are.

    Permissions and content types, which nothing reads, are not written again after each test that empties the tables.
    """
    with django_db_blocker.unblock():
        if connections["default"].vendor == "sqlite":
            call_command("migrate", fake=True, verbosity=0)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)


@pytest.fixture(scope="session", autouse=True)
def child_processes_use_default_settings() -> None:
    """Start the processes of a test with the settings of an installation."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "kubesched_ui.settings"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the project."""
    return Path(django_settings.BASE_DIR)
