"""Short summary of the changes in a scheduler configuration, to distinguish runs in a list."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from scheduler_core.api.profile import POINTS, Profile
from scheduler_core.api.scheduler_config import GROUP, KIND
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.config import Configuration, Unknown
from scheduler_core.config.discovery import find
from scheduler_core.config.loader import load
from scheduler_core.config.policy_conversion import UnreadPolicy
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release

LONGEST = 200
DEFAULT = "as default"
FIT = "NodeResourcesFit"
MANY = 3  # if at least this many plugins no longer score, they are summarised


@lru_cache(maxsize=256)
def config_summary(config: str, release: str, unknown: Unknown = "error") -> str:
    """Return a summary such as `MostAllocated, PodTopologySpread off, ImageLocality ×5`. The result is "as default" if
    nothing is changed, "" for an empty text, and "unreadable" for an invalid one."""
    if not config:
        return ""
    page = get_release(release)
    try:
        found = load(config, page, unknown=unknown)
        version = find(config)[0].raw.get("apiVersion") or f"{GROUP}/v1"
        plain = load(None if page.predicates else {"apiVersion": version, "kind": KIND}, page)
    except UnreadPolicy:
        return "Policy"
    except InputError:
        return "unreadable"
    if page.predicates:
        of_old = ["Policy"]
    else:
        of_old = [f"{version.rpartition('/')[2]} defaults"] if version != f"{GROUP}/v1" else []
    text = ", ".join(dict.fromkeys([*_changes(found, plain), *of_old])) or DEFAULT
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _changes(found: Configuration, plain: Configuration) -> Iterator[str]:
    several = len(found.profiles) > 1
    if several:
        yield count(len(found.profiles), "profile")
    for profile in found.profiles:
        name = f"{profile.scheduler_name}: " if several else ""
        yield from (name + change for change in _profile(profile, plain.profiles[0]))
    if found.percentage_of_nodes_to_score not in (None, plain.percentage_of_nodes_to_score):
        yield f"{found.percentage_of_nodes_to_score}% of nodes"
    if found.extenders:
        yield f"{count(len(found.extenders), 'extender')} ignored"
    for field in ("pod_initial_backoff_seconds", "pod_max_backoff_seconds"):
        if getattr(found, field) != getattr(plain, field):
            yield f"backoff from {found.pod_initial_backoff_seconds} to {found.pod_max_backoff_seconds} s"


def _profile(profile: Profile, plain: Profile) -> Iterator[str]:
    strategy = _strategy(profile)
    if strategy and strategy != _strategy(plain):
        yield strategy
    mine, theirs = _points(profile), _points(plain)
    scoring, silent = _scoring(mine), _scoring(theirs) - _scoring(mine)
    if len(silent) >= MANY:
        yield f"{listing(sorted(scoring))} alone score{'s' * (len(scoring) == 1)}" if scoring else "no plugin scores"
    for plugin in sorted(mine.keys() | theirs.keys(), key=[*theirs, *sorted(mine)].index):
        have, had = mine.get(plugin, {}), theirs.get(plugin, {})
        gone = [point for point in had if point not in have]
        if len(silent) >= MANY and set(gone) <= {"preScore", "score"}:
            gone = []
        if gone and not have:
            yield f"{plugin} off"
        elif gone:
            yield f"{plugin} off at {', '.join(gone)}"
        elif have and not had:
            yield f"{plugin} on"
        weight = have.get("score", 0)
        if weight and weight != had.get("score", weight if not had else 0):
            yield f"{plugin} ×{weight}"
    for plugin, args in profile.args.items():
        if (
            plugin in theirs
            and plugin in mine
            and args != plain.args.get(plugin)
            and (plugin != FIT or not _only_strategy(profile, plain))
        ):
            yield f"{plugin} configured"
    if profile.percentage_of_nodes_to_score is not None:
        yield f"{profile.percentage_of_nodes_to_score}% of nodes"


def _scoring(points: dict[str, dict[str, int]]) -> set[str]:
    return {plugin for plugin, at in points.items() if "score" in at}


def _points(profile: Profile) -> dict[str, dict[str, int]]:
    """Return plugin -> extension point -> weight."""
    found: dict[str, dict[str, int]] = {}
    for point in POINTS:
        for plugin, weight in profile.plugins[point]:
            found.setdefault(plugin, {})[point] = weight
    return found


def _strategy(profile: Profile) -> str:
    """Return the scoring strategy, `MostAllocated` for example; "" without NodeResourcesFit. It includes the resources
    unless they are cpu and memory with equal weights."""
    strategy: Any = getattr(profile.args.get(FIT), "scoring_strategy", None)
    if strategy is None:
        return ""
    resources = [(resource.name, resource.weight) for resource in strategy.resources]
    if dict(resources) in ({"cpu": 1, "memory": 1}, {}):
        return str(strategy.type)
    return f"{strategy.type} of {' and '.join(f'{name} ×{weight}' for name, weight in resources)}"


def _only_strategy(profile: Profile, plain: Profile) -> bool:
    """Return whether the arguments of NodeResourcesFit differ only in the strategy, which is in the summary already."""
    mine, theirs = profile.args[FIT], plain.args.get(FIT)
    names = ("ignored_resources", "ignored_resource_groups")
    return all(getattr(mine, name, ()) == getattr(theirs, name, ()) for name in names)
