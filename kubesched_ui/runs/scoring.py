"""The scoring form: a strategy of NodeResourcesFit and weights of Score plugins, applied to a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.api.scheduler_config import GROUP, KIND
from scheduler_core.config import APPENDING
from scheduler_core.config.discovery import find
from scheduler_core.config.legacy_scores import STRATEGIES as PLUGINS
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, Release, get_release

FIT = "NodeResourcesFit"
DEFAULT, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
STRATEGIES = (DEFAULT, MOST, RATIO)
MAX_WEIGHT = 100  # what kube-scheduler accepts
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]  # prefers full nodes, in proportion
PLUGIN_OF = {strategy: plugin for plugin, strategy in PLUGINS.items()}  # the strategies before 1.22


@dataclass(frozen=True)
class Scoring:
    """Values of the form. `strategy`: "" leaves it as configured. `weights`: of the plugins that change; 0 disables
    one."""

    strategy: str = ""
    weights: Mapping[str, int] = field(default_factory=dict)


def offered(release: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the options of parts/scoring.html, and the values of a form that is shown again. Weights are the defaults
    of the release; releases with predicates have none."""
    page, given = _release(release), form or {}
    usual = [] if page.predicates else load(None, page).profiles[0].plugins["score"]
    weights = [(name, weight, given.get(f"weight.{name}", "")) for name, weight in usual]
    changed = bool(given.get("strategy")) or any(value for _, _, value in weights)
    return {"strategies": STRATEGIES, "chosen": given.get("strategy", ""), "weights": weights, "open": changed}


def _release(name: str) -> Release:
    try:
        return get_release(name)
    except InputError:
        return get_release(NEWEST)


def scoring_in(form: Mapping[str, str], strategy: str = "strategy") -> Scoring:
    """Return the form's values: `strategy` (or the field named here), and `weight.PLUGIN`. Raises InputError."""
    chosen = form.get(strategy, "")
    if chosen not in ("", *STRATEGIES):
        raise InputError("Run", strategy, f"must be one of {', '.join(STRATEGIES)}, got {chosen[:63]!r}")
    weights = {}
    for name in form:
        text = form[name].strip() if name.startswith("weight.") else ""
        if text:
            if not (text.isascii() and text.isdecimal() and len(text) < 4 and int(text) <= MAX_WEIGHT):
                problem = f"must be a whole number in 0..{MAX_WEIGHT}, got {text[:40]!r}"
                raise InputError("Run", name[:100], problem)
            weights[name.removeprefix("weight.")] = int(text)
    return Scoring(chosen, weights)


def scored(config: str, release: str, scoring: Scoring) -> str:
    """Return the configuration with this strategy and these weights in every profile; "" is the release's default.

    Raises InputError for a Policy, an invalid configuration and a plugin that does not score.
    """
    usual = scoring.strategy in ("", DEFAULT) and not config
    if not scoring.weights and (usual or not scoring.strategy):
        return config
    page = get_release(release)
    if page.predicates:
        raise InputError("Run", "strategy", f"is not part of kube-scheduler {page.name}; enter a Policy instead")
    plugins = any(name in PLUGINS for name, _ in page.default_plugins)  # as in 1.21: one plugin for each strategy
    version = f"{GROUP}/v1beta1" if plugins else f"{GROUP}/v1"
    raw: dict[str, Any] = find(config)[0].raw if config else {"apiVersion": version, "kind": KIND}
    if raw.get("kind") != KIND:
        raise InputError("Run", "strategy", "cannot be set in a Policy; change its priorities instead")
    load(raw, page, unknown="leave_out")
    document = {**raw, "profiles": [_profile(one) for one in raw.get("profiles") or [{}]]}
    appends = str(raw.get("apiVersion")).rpartition("/")[2] in APPENDING
    scores = {name for name, _ in load(None, page).profiles[0].plugins["score"]}
    for profile in document["profiles"]:
        score = profile["plugins"]["score"]
        known = scores | {one.get("name") for one in score["enabled"]}
        for name, weight in scoring.weights.items():
            if name not in known:
                raise InputError("Run", f"weight.{name[:63]}", f"is no default Score plugin of {page.name}")
            _weigh(score, name, weight, appends)
        if scoring.strategy:
            _set_strategy(profile, scoring.strategy, plugins, appends)
        _drop_empty(profile)
    return to_yaml(document)


def _profile(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a profile that has all lists that may change."""
    plugins = raw.get("plugins") or {}
    score = plugins.get("score") or {}
    lists = {part: [dict(one) for one in score.get(part) or ()] for part in ("enabled", "disabled")}
    config = [dict(one) for one in raw.get("pluginConfig") or ()]
    return {**raw, "plugins": {**plugins, "score": {**score, **lists}}, "pluginConfig": config}


def _weigh(score: dict[str, Any], name: str, weight: int, appends: bool) -> None:
    """Set a weight. Where a configuration appends to the defaults, a default plugin must be disabled first."""
    at = next((i for i, one in enumerate(score["enabled"]) if one.get("name") == name), len(score["enabled"]))
    score["enabled"][at : at + 1] = [{"name": name, "weight": weight}] if weight else []
    if (appends or not weight) and not any(one.get("name") in (name, "*") for one in score["disabled"]):
        score["disabled"].append({"name": name})


def _set_strategy(profile: dict[str, Any], strategy: str, plugins: bool, appends: bool) -> None:
    if plugins:
        score = profile["plugins"]["score"]
        for plugin in PLUGINS:
            score["enabled"] = [one for one in score["enabled"] if one.get("name") != plugin]
            score["disabled"] = [one for one in score["disabled"] if one.get("name") != plugin]
        if strategy != DEFAULT:
            _weigh(score, PLUGIN_OF[DEFAULT], 0, appends)
            score["enabled"].append({"name": PLUGIN_OF[strategy], "weight": 1})
        if strategy == RATIO:
            _args(profile, PLUGIN_OF[RATIO]).setdefault("shape", SHAPE)
        return
    args = _args(profile, FIT)
    old = args.get("scoringStrategy") or {}
    args["scoringStrategy"] = {**old, "type": strategy}
    if strategy == RATIO:
        args["scoringStrategy"].setdefault("requestedToCapacityRatio", {"shape": SHAPE})


def _args(profile: dict[str, Any], plugin: str) -> dict[str, Any]:
    """Return the arguments of a plugin, to be changed."""
    entry = next((one for one in profile["pluginConfig"] if one.get("name") == plugin), None)
    if entry is None:
        profile["pluginConfig"].append(entry := {"name": plugin})
    entry["args"] = dict(entry.get("args") or {})
    args: dict[str, Any] = entry["args"]
    return args


def _drop_empty(profile: dict[str, Any]) -> None:
    plugins = profile["plugins"]
    plugins["score"] = {part: value for part, value in plugins["score"].items() if value}
    for holder, key in ((plugins, "score"), (profile, "plugins"), (profile, "pluginConfig")):
        if not holder[key]:
            del holder[key]
