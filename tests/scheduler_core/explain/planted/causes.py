"""All planted causes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from inspect import getmembers, isfunction
from types import ModuleType

from tests.scheduler_core.explain.planted import node_causes, pod_causes, volume_causes
from tests.scheduler_core.explain.planted.case import Case
from tests.scheduler_core.explain.planted.world import World


def _planters(module: ModuleType) -> dict[str, Callable[[World], Case]]:
    own = [(name, one) for name, one in getmembers(module, isfunction) if one.__module__ == module.__name__]
    made = {name: one for name, one in own if one.__annotations__.get("return") == "Case"}
    return {name: one for name, one in made.items() if not name.startswith("_")}


CAUSES = _planters(node_causes) | _planters(pod_causes) | _planters(volume_causes)


def planted(name: str, seed: int) -> Case:
    """Return the cluster of a planted cause; equal seeds give equal clusters."""
    world = World(seed)
    case = CAUSES[name](world)
    world.chance.shuffle(case.objects)
    return replace(case, name=f"{name}-{seed}")


def cases(seeds: Iterable[int]) -> Iterator[Case]:
    for seed in seeds:
        for name in CAUSES:
            yield planted(name, seed)
