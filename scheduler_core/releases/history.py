"""Since when a behaviour is as it is: looked up in the releases themselves."""

from __future__ import annotations

from scheduler_core.releases import RELEASES, Release
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.releases.switches import DEFAULTS, PLUGIN, VERSIONS, Switch


def since(switch: Switch, a: Release, b: Release) -> str:
    """The release, of those between the two, from which on a behaviour is as in the newer one; "" where it changed
    several times on the way. What the release's page says of it where releases between them are not there."""
    older, newer = sorted((a, b), key=lambda release: numbered(release.number))
    names = [n for n in RELEASES if numbered(older.number) <= numbered(n) <= numbered(newer.number)]
    values = [_value(RELEASES[name], switch.name) for name in names]
    if not values or (values[0], values[-1]) != (_value(older, switch.name), _value(newer, switch.name)):
        return switch.since  # feature gates
    changed = [i for i in range(1, len(names)) if values[i] != values[i - 1]]
    if not changed or (switch.name in DEFAULTS and len(changed) > 1):
        return ""
    before, at = (numbered(names[i]) for i in (changed[-1] - 1, changed[-1]))
    return names[changed[-1]] if at[1] - before[1] == 1 else switch.since


def _value(release: Release, name: str) -> object:
    if name in DEFAULTS:
        return tuple(getattr(release, field) for field in VERSIONS)
    if name.startswith(PLUGIN):
        return dict(release.default_plugins).get(name.removeprefix(PLUGIN))
    return getattr(release, name)
