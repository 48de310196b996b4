"""Validation of the file as a whole.

Upstream: ValidateKubeSchedulerConfiguration (pkg/scheduler/apis/config/validation), component-base's checks of leader
election and client connection, and buildExtenders (pkg/scheduler/scheduler.go).
"""

from collections.abc import Sequence

from scheduler_core.api.plugin_args import Complain, check_range
from scheduler_core.api.profile import Profile
from scheduler_core.api.scheduler_config import ALPHA, Extender, File, LeaderElectionSection, PluginSet
from scheduler_core.api.syntax import extended_resource_problem, go_duration, shown
from scheduler_core.errors import InputError

MAX_PROFILES = 100


def check_file(complain: Complain, file: File, version: str, *, as_upstream: bool) -> None:
    """Validate the top-level fields.

    `as_upstream`: the release supports this version, so fields that only matter at run time are also validated.
    """
    if len(file.profiles) > MAX_PROFILES:
        complain("profiles", f"must be at most {MAX_PROFILES}, got {len(file.profiles)}")
    if file.parallelism <= 0:
        complain("parallelism", f"must be greater than 0, got {file.parallelism}")
    if file.percentage_of_nodes_to_score is not None:
        check_range(complain, "percentageOfNodesToScore", file.percentage_of_nodes_to_score, 0, 100)
    initial, maximum = file.pod_initial_backoff_seconds, file.pod_max_backoff_seconds
    if initial <= 0:
        complain("podInitialBackoffSeconds", f"must be greater than 0, got {initial}")
    if maximum < initial:
        complain("podMaxBackoffSeconds", f"must be at least podInitialBackoffSeconds ({initial}), got {maximum}")
    if file.client_connection.burst < 0:
        complain("clientConnection.burst", f"must not be negative, got {file.client_connection.burst}")
    if as_upstream:
        for name, address in (("healthz", file.healthz_bind_address), ("metrics", file.metrics_bind_address)):
            if address and not address.endswith(":0") and version not in ALPHA:
                complain(f"{name}BindAddress", f"must be empty or have port 0, got {shown(address)}")
        check_leader_election(complain, file.leader_election, OLD_LOCKS if version in ("v1beta1", "v1alpha2") else ())


OLD_LOCKS = ("configmaps", "endpoints", "configmapsleases", "endpointsleases")
"""Resource locks other than leases in the releases of v1beta1."""


def check_leader_election(complain: Complain, election: LeaderElectionSection, old_locks: tuple[str, ...] = ()) -> None:
    """Validate leader election. Durations of zero count as missing."""
    seconds: dict[str, float] = {}
    for name, text, default in (
        ("leaseDuration", election.lease_duration, 15.0),
        ("renewDeadline", election.renew_deadline, 10.0),
        ("retryPeriod", election.retry_period, 2.0),
    ):
        duration = go_duration(text)
        if duration is None:
            complain(f"leaderElection.{name}", f"must be a duration such as 15s, got {shown(text)}")
        if duration < 0 and election.leader_elect:
            complain(f"leaderElection.{name}", f"must be greater than 0, got {shown(text)}")
        seconds[name] = duration or default
    if not election.leader_elect:
        return
    if seconds["leaseDuration"] <= seconds["renewDeadline"]:
        complain("leaderElection.leaseDuration", "must be greater than renewDeadline")
    if election.resource_lock not in ("", "leases", *old_locks):
        complain("leaderElection.resourceLock", f"must be leases, got {shown(election.resource_lock)}")


def check_extenders(extenders: Sequence[Extender]) -> None:
    managed: set[str] = set()
    binders = 0
    for i, extender in enumerate(extenders):
        where = _extender_label(i, extender)
        if extender.prioritize_verb and extender.weight <= 0:
            raise InputError(where, "weight", f"must be greater than 0, got {extender.weight}")
        if extender.http_timeout and go_duration(extender.http_timeout) is None:
            problem = f"must be a duration such as 5s, got {shown(extender.http_timeout)}"
            raise InputError(where, "httpTimeout", problem)
        binders += bool(extender.bind_verb)
        for j, resource in enumerate(extender.managed_resources):
            field = f"managedResources[{j}].name"
            if problem := extended_resource_problem(resource.name):
                raise InputError(where, field, f"{problem}, got {shown(resource.name)}")
            if resource.name in managed:
                raise InputError(where, field, f"{shown(resource.name)} is managed by an extender already")
            managed.add(resource.name)
    if binders > 1:
        raise InputError("extenders", "bindVerb", f"only one extender can bind, got {binders}")


def ignored_resources(extenders: Sequence[Extender]) -> tuple[str, ...]:
    """Return the resources left to extenders. Upstream replaces ignoredResources of NodeResourcesFit by them."""
    return tuple(r.name for extender in extenders for r in extender.managed_resources if r.ignored_by_scheduler)


def _extender_label(index: int, extender: Extender) -> str:
    return f"extenders[{index}] {shown(extender.url_prefix)}"


def extender_warnings(extenders: Sequence[Extender]) -> list[str]:
    """Return a warning about each extender: none is called."""
    return [
        f"{_extender_label(i, extender)}: extenders are programs outside the scheduler and are not called; "
        "what this one would filter, score or bind is left out"
        for i, extender in enumerate(extenders)
    ]


def check_together(queue_sorts: Sequence[PluginSet | None], profiles: Sequence[Profile]) -> None:
    """Check that names are unique and that all profiles have the same queueSort.

    `queue_sorts`: the queueSort of each profile as written in the file, which must also be the same; None if a part of
    it was left out.
    """
    first = profiles[0]
    (sorter, _), seen = first.plugins["queueSort"][0], {first.scheduler_name}
    for i, (queue_sort, profile) in enumerate(zip(queue_sorts[1:], profiles[1:], strict=True), start=1):
        where = f'profiles[{i}] "{shown(profile.scheduler_name)[1:-1]}"'
        if profile.scheduler_name in seen:
            raise InputError(where, "schedulerName", "another profile has this name")
        seen.add(profile.scheduler_name)
        differs = queue_sort is not None and queue_sorts[0] is not None and queue_sort != queue_sorts[0]
        if differs or profile.plugins["queueSort"] != first.plugins["queueSort"]:
            raise InputError(where, "plugins.queueSort", "must be the same for all profiles")
        if profile.args.get(sorter) != first.args.get(sorter):
            raise InputError(where, "pluginConfig", f"the arguments of {sorter} must be the same for all profiles")
