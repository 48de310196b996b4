"""Since when a behaviour is as it is."""

from __future__ import annotations

from scheduler_core.releases import FRAMEWORK, RELEASES, get_release
from scheduler_core.releases.history import since
from scheduler_core.releases.switches import between, switched


def test_it_is_the_release_whose_page_has_it_first() -> None:
    names = list(FRAMEWORK)
    older, newer = RELEASES[names[0]], RELEASES[names[-1]]
    for switch in between(older, newer):
        told = since(switch, older, newer)
        if switch.name.startswith("default_plugins") or told not in names:  # not all releases need be there
            continue
        at = names.index(told)
        assert getattr(RELEASES[names[at - 1]], switch.name) != getattr(newer, switch.name), switch
        assert all(getattr(RELEASES[name], switch.name) == getattr(newer, switch.name) for name in names[at:]), switch
        assert told == since(switch, newer, older)


def test_plugins_and_gates() -> None:
    def told(a: str, b: str, name: str) -> str:
        one, other = get_release(a), get_release(b)
        return next(since(switch, one, other) for switch in between(one, other) if switch.name == name)

    assert told("1.27", "1.34", "default_plugins:DynamicResources") == "1.34"
    assert told("1.27", "1.34", "default_plugins:EBSLimits") == "1.31"
    assert told("1.34", "1.36", "default_plugins:DynamicResources") == "1.35", "it weighs 2 since"
    assert told("1.34", "1.36", "default_plugins:NodeDeclaredFeatures") == "1.36"
    assert told("1.34", "1.34 SchedulerPopFromBackoffQ=false", "pop_from_backoff") == "1.33"


def test_default_plugins_change_one_by_one() -> None:
    """Each alone; the order is that of the release that is changed, until that changes, too."""
    a, b = get_release("1.27"), get_release("1.34")
    names = [switch.name for switch in between(a, b) if switch.name.startswith("default_plugins")]
    one = switched(a, b, frozenset(["default_plugins:DynamicResources"]))
    assert [name for name, _ in one.default_plugins if name != "DynamicResources"] == [n for n, _ in a.default_plugins]
    order = [name for name, _ in one.default_plugins]
    assert order.index("InterPodAffinity") < order.index("DynamicResources") < order.index("DefaultPreemption")
    without = switched(a, b, frozenset(["default_plugins:EBSLimits"]))
    assert dict(without.default_plugins) == {n: w for n, w in a.default_plugins if n != "EBSLimits"}
    assert switched(a, b, frozenset(names)).default_plugins == b.default_plugins
