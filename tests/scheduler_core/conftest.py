"""Hypothesis runs the same examples every time, and keeps nothing between runs."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "core",
    derandomize=True,
    deadline=None,
    database=None,
    # `in_process` of all tests' conftest is made once per test, not per example; it does not matter to the core.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("core")
