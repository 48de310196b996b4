"""The differences between the inputs of two runs, each of which can be applied to the first run separately."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api.objects import describe
from scheduler_core.api.profile import Profile
from scheduler_core.compare.inputs import Inputs, Item
from scheduler_core.releases import Release, get_release
from scheduler_core.releases.differences import apply_differences, differences

SETTINGS = ("seed", "tie_break", "preemption", "percentage", "until", "choices", "only", "pods")
LISTS = ("timeline", "arrivals")  # parts of a scenario's spec that are compared entry by entry


class Delta(NamedTuple):
    """One difference. `kind`: release, setting, config, object, change or scenario.

    For a release, `text` is the behaviour of b and `before` that of a; `since`, `expect` and `link` are as in
    BehaviorDifference.
    """

    kind: str
    path: str
    text: str = ""
    since: str = ""
    a: Any = None
    b: Any = None
    before: str = ""
    expect: str = ""
    link: str = ""


def deltas_of(a: Inputs, b: Inputs) -> list[Delta]:
    """Return the differences, each of which can be applied to `a` separately."""
    names = a.release.name, b.release.name
    found = [
        Delta("release", one.name, one.text, one.since, *names, one.before, one.expect, one.link)
        for one in differences(a.release, b.release)
    ]
    for name in SETTINGS:
        if getattr(a, name) != getattr(b, name):
            found.append(Delta("setting", name, a=_plain(getattr(a, name)), b=_plain(getattr(b, name))))
    found += _configurations(a, b)
    found += _objects(a, b)
    found += _scenario(a.time or {}, b.time or {})
    for side, number, item in _merged(a.items, b.items):
        if side != "both":
            found += _of_item(side, number, item, b)
    return found


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)


def _of_item(side: str, number: int, item: Item, b: Inputs) -> Iterator[Delta]:
    path = f"changes[{number}]" if side == "b" else f"a.changes[{number}]"
    without = "" if side == "b" else "without: "
    if item.change is not None:
        name, what = item.change.operation
        value = {side: msgspec.to_builtins(what)}
        yield Delta("change", path, f"{without}{item.moment}: {name} {_named(what)}", **value)
    elif item.setting == "release" and side == "b":
        before = next((one.value for one in reversed(b.items[:number]) if one.setting == "release"), b.release)
        older, newer = get_release(before), get_release(item.value)
        for one in differences(older, newer):
            more = one.before, one.expect, one.link
            text = f"{item.moment}: {one.text}"
            yield Delta("release", f"{path}.{one.name}", text, one.since, older.name, item.value, *more)
    else:
        yield Delta("change", path, f"{without}{item.moment}: {item.setting}", **{side: _plain(item.value)})


def _named(what: Any) -> str:
    """Return a short description of a change's object."""
    if isinstance(what, str):
        return what
    if isinstance(what, dict):
        return describe(what)
    return " ".join(str(part) for part in msgspec.to_builtins(what).values() if part and not isinstance(part, dict))


def _scenario(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Delta]:
    for name in {**a, **b}:
        if name in LISTS:
            for side, number, entry in _merged(a.get(name) or (), b.get(name) or ()):
                if side != "both":
                    path = f"{name}[{number}]" if side == "b" else f"a.{name}[{number}]"
                    text = "is only in the second" if side == "b" else "is only in the first"
                    yield Delta("scenario", path, text, **{side: entry})
        elif a.get(name) != b.get(name):
            yield Delta("scenario", name, a=a.get(name), b=b.get(name))


def _merged(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[str, int, Any]]:
    """Merge both lists in order; yield (both, a or b: the list it is from, its index there, the entry)."""
    one, other = ([msgspec.json.encode(entry, enc_hook=str) for entry in entries] for entries in (a, b))
    for tag, i, j, k, n in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        yield from (("both" if tag == "equal" else "a", number, a[number]) for number in range(i, j))
        yield from (("b", number, b[number]) for number in range(k, n) if tag != "equal")


def _configurations(a: Inputs, b: Inputs) -> Iterator[Delta]:
    if (a.config or None) == (b.config or None) and a.unknown_plugins == b.unknown_plugins:
        return
    one, other = a.configuration(a.release), b.configuration(b.release)
    if [p.scheduler_name for p in one.profiles] != [p.scheduler_name for p in other.profiles]:
        yield Delta("config", "config", "the profiles")
        return
    for mine, theirs in zip(one.profiles, other.profiles, strict=True):
        where = f"config.{mine.scheduler_name}"
        lists = [{point: [n for n, _ in p.plugins[point]] for point in p.plugins} for p in (mine, theirs)]
        if lists[0] != lists[1]:
            yield Delta("config", f"{where}.plugins", "which plugins run, and their weights")
        else:
            for (plugin, weight), (_, new) in zip(mine.plugins["score"], theirs.plugins["score"], strict=True):
                if weight != new:
                    yield Delta("config", f"{where}.weights.{plugin}", "its weight", a=weight, b=new)
        for plugin in {**mine.args, **theirs.args}:
            if mine.args.get(plugin) != theirs.args.get(plugin):
                yield Delta("config", f"{where}.args.{plugin}", "its arguments")
        if mine.percentage_of_nodes_to_score != theirs.percentage_of_nodes_to_score:
            yield Delta("config", f"{where}.percentage", "percentageOfNodesToScore")
    if one.percentage_of_nodes_to_score != other.percentage_of_nodes_to_score:
        yield Delta("config", "config.percentage", "percentageOfNodesToScore")


def _objects(a: Inputs, b: Inputs) -> Iterator[Delta]:
    for key in {**a.objects, **b.objects}:
        one, other = a.objects.get(key), b.objects.get(key)
        if one != other:
            text = "is another" if one and other else "is only in the first" if one else "is only in the second"
            yield Delta("object", "/".join(filter(None, key)), text)


def applied_to(a: Inputs, b: Inputs, units: Sequence[Delta]) -> Inputs:
    """Return the inputs of `a` with these differences of `b`."""
    of: dict[str, list[str]] = {}
    for unit in units:
        of.setdefault(unit.kind, []).append(unit.path)
    behaviours = frozenset(of.get("release", ()))
    names = frozenset(name for name in behaviours if "." not in name)
    release = apply_differences(a.release, b.release, names, bool(a.config))
    values: dict[str, Any] = {name: getattr(b, name) for name in of.get("setting", ())}
    objects = dict(a.objects)
    for key in {**a.objects, **b.objects}:
        if "/".join(filter(None, key)) in of.get("object", ()):
            if key in b.objects:
                objects[key] = b.objects[key]
            else:
                del objects[key]
    items = tuple(_items(a, b, {*of.get("change", ()), *behaviours}))
    time = None if a.time is None else _time(a.time, b.time or {}, set(of.get("scenario", ())))
    found = replace(a, release=release, objects=objects, items=items, time=time, **values)
    return replace(found, config=_config(a, b, release, of["config"])) if "config" in of else found


def _stays(side: str, path: str, applied: set[str]) -> bool:
    """Return whether an entry of merged lists is in the result. `path`: without its side."""
    return side == "both" or (f"a.{path}" not in applied if side == "a" else path in applied)


def _items(a: Inputs, b: Inputs, applied: set[str]) -> Iterator[Item]:
    for side, number, item in _merged(a.items, b.items):
        path = f"changes[{number}]"
        only = frozenset(name.removeprefix(f"{path}.") for name in applied if name.startswith(f"{path}."))
        if _stays(side, path, applied):
            yield item
        elif side == "b" and only:
            yield item._replace(only=only)


def _time(a: Mapping[str, Any], b: Mapping[str, Any], applied: set[str]) -> dict[str, Any]:
    found = {**a, **{name: b[name] for name in applied if name in b}}
    for name in applied - b.keys():
        found.pop(name, None)
    for name in LISTS:
        entries = _merged(a.get(name) or (), b.get(name) or ())
        found[name] = [e for side, number, e in entries if _stays(side, f"{name}[{number}]", applied)]
    return found


def _config(a: Inputs, b: Inputs, release: Release, paths: Sequence[str]) -> Any:
    """Return the configuration of `a` with parts of that of `b`, both decoded."""
    if "config" in paths:
        return b.config
    mine, theirs = a.configuration(release), b.configuration(b.release)
    profiles = [_profile(p, q, paths) for p, q in zip(mine.profiles, theirs.profiles, strict=True)]
    share = theirs if "config.percentage" in paths else mine
    return replace(mine, profiles=profiles, percentage_of_nodes_to_score=share.percentage_of_nodes_to_score)


def _profile(mine: Profile, theirs: Profile, paths: Sequence[str]) -> Profile:
    where = f"config.{mine.scheduler_name}"
    plugins, args, share = dict(mine.plugins), dict(mine.args), mine.percentage_of_nodes_to_score
    weights = dict(theirs.plugins["score"])
    for path in paths:
        part, _, plugin = path.removeprefix(f"{where}.").partition(".")
        if not path.startswith(f"{where}."):
            continue
        if part == "plugins":
            plugins = dict(theirs.plugins)
        elif part == "weights":
            plugins["score"] = tuple((n, weights[n] if n == plugin else weight) for n, weight in plugins["score"])
        elif part == "args" and plugin in theirs.args:
            args[plugin] = theirs.args[plugin]
        elif part == "args":
            args.pop(plugin, None)
        elif part == "percentage":
            share = theirs.percentage_of_nodes_to_score
    for name in {n for entries in plugins.values() for n, _ in entries} - args.keys():
        if name in theirs.args:  # a plugin that only the second run has
            args[name] = theirs.args[name]
    return replace(mine, plugins=plugins, args=args, percentage_of_nodes_to_score=share)
