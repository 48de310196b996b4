"""Fixtures for all tests. Hypothesis runs the same examples each time, however slow, and keeps nothing between runs."""

import gc
import os
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connections
from hypothesis import HealthCheck, settings

from tests.examples import SHARES, examples

for profile in SHARES:
    settings.register_profile(
        profile,
        derandomize=True,
        deadline=None,
        database=None,
        # `in_process` is made once per test, not per example; it does not matter to them.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
        max_examples=examples(100, profile),
    )
settings.load_profile("short")


def pytest_configure() -> None:
    """Switch garbage collection off while thousands of tests are collected: nothing of that is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of all later collections."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A database of its own in a file, not in memory: threads and processes of one test see the same rows."""
    database = connections["default"].settings_dict
    if database["ENGINE"].endswith("sqlite3"):
        name = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
        database["TEST"]["NAME"] = name


@pytest.fixture(scope="session", autouse=True)
def processes_have_the_products_settings() -> None:
    """What a test starts is as people start it."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "kubesched_ui.settings"


@pytest.fixture(autouse=True)
def in_process(settings) -> None:  # type: ignore[no-untyped-def]
    """Uploads are read in the test's own process, inside its transaction, unless a test asks otherwise.

    What processes share for a while is the test's own, too, whatever else runs on this machine.
    """
    settings.INGEST_ISOLATED = False
    settings.OFFLOAD = False
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The project's root."""
    return Path(django_settings.BASE_DIR)
