"""Replaces the scheduler of a running cluster: settings change from a timepoint on, everything else is unchanged."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.framework.runtime import Framework
from scheduler_core.queue.hints import Hints
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine

_OF_RELEASE = ("requests", "held", "nonzero", "nonzero_incoming", "slip", "host_ports")  # what it derives from a pod
SETTINGS = ("release", "config", "unknown_plugins", "seed", "tie_break", "preemption", "percentage")


def reconfigure(
    simulation: Simulation,
    settings: Mapping[str, Any],
    engine: Engine | None = None,
    pods: Mapping[str, PodInfo] | None = None,
) -> None:
    """Replace the scheduler.

    `settings` has all of SETTINGS with their new values. In virtual time, `engine` is the run's and `pods` are the
    existing pods. Pods that Permit holds stay held. Skipped plugins and changed weights are not transferred. Raises
    InputError.
    """
    release = get_release(settings["release"])
    if (release.predicates, release.legacy_queue) != (simulation.release.predicates, simulation.release.legacy_queue):
        raise InputError("fork", "release", f"{simulation.release.name} cannot become {release.name} within a run")
    configuration = settings["config"]
    if not isinstance(configuration, Configuration):
        unknown = settings.get("unknown_plugins", "error")
        configuration = load(configuration or None, release, simulation.registry, unknown)
    if release is not simulation.release:
        simulation.release = simulation.cluster.release = release
        everyone = pods if pods is not None else {pod.key: pod for pod in simulation.pending} | simulation.cluster.pods
        _recompute_pods(simulation, everyone.values())
    simulation.configuration = configuration
    scheduler = simulation.scheduler
    seed = settings["seed"] if settings["tie_break"] == "seed" else None
    old = dict(scheduler.profiles)
    scheduler.preemption = settings["preemption"]
    scheduler.own_frameworks.clear()
    profiles = dict(simulation.frameworks(seed, settings["percentage"]))
    scheduler.profiles = profiles
    if engine is not None:
        engine.queue.profiles = profiles
    like = next(iter(old.values()))
    for name, framework in scheduler.profiles.items():
        framework.list_pods, framework.extenders = like.list_pods, like.extenders
        if name in old:
            framework.waiting_pods = old[name].waiting_pods
    if engine is not None and pods is not None:
        _update_queue(simulation, engine, old, pods)
    else:
        _update_order(simulation, old)


def _recompute_pods(simulation: Simulation, pods: Iterable[PodInfo]) -> None:
    """Recompute the pod data that depends on the release: requests and host ports."""
    cluster = simulation.cluster
    for pod in list(pods):
        new = PodInfo(pod.pod, cluster.release)
        pod.release = cluster.release
        if all(getattr(new, name) == getattr(pod, name) for name in _OF_RELEASE):
            continue
        node = pod.node
        placed = pod.key in cluster.pods
        if placed:
            cluster.remove_pod(pod)
        for name in _OF_RELEASE:
            setattr(pod, name, getattr(new, name))
        if placed:
            cluster.add_pod(pod, node)


def _update_order(simulation: Simulation, old: Mapping[str, Framework]) -> None:
    """Update the order of a single pass: drop pods of removed schedulers and append pods of new ones."""
    profiles = simulation.scheduler.profiles
    simulation.to_try[:] = [pod for pod in simulation.to_try if pod.pod.spec.scheduler_name in profiles]
    added = profiles.keys() - old.keys()
    waiting = (pod for pod in simulation.pending if not pod.node and not pod.terminating)
    simulation.to_try += [pod for pod in waiting if pod.pod.spec.scheduler_name in added]


def _update_queue(
    simulation: Simulation, engine: Engine, old: Mapping[str, Framework], pods: Mapping[str, PodInfo]
) -> None:
    queue, release, profiles = engine.queue, simulation.release, simulation.scheduler.profiles
    queue.release, queue.with_hints = release, release.queueing_hints
    queue.hints = Hints(profiles, release)
    settings = simulation.configuration
    queue.backoff.configure(settings.pod_initial_backoff_seconds, settings.pod_max_backoff_seconds)
    for pod in list(pods.values()):
        name = pod.pod.spec.scheduler_name
        if pod.node or pod.terminating:
            continue
        if name in old and name not in profiles:
            queue.delete(pod)
        elif name in profiles and name not in old and not queue.in_flight(pod.key) and queue.get(pod.key) is None:
            queue.add(pod)
