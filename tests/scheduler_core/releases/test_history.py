"""Since when a behaviour is as it is."""

from __future__ import annotations

from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.history import since
from scheduler_core.releases.switches import between


def test_it_is_the_release_whose_page_has_it_first() -> None:
    names = list(RELEASES)
    older, newer = RELEASES[names[0]], RELEASES[names[-1]]
    for switch in between(older, newer):
        told = since(switch, older, newer)
        if switch.name == "default_plugins" or told not in names:  # not all releases need be there
            continue
        at = names.index(told)
        assert getattr(RELEASES[names[at - 1]], switch.name) != getattr(newer, switch.name), switch
        assert all(getattr(RELEASES[name], switch.name) == getattr(newer, switch.name) for name in names[at:]), switch
        assert told == since(switch, newer, older)


def test_plugins_and_gates() -> None:
    def told(a: str, b: str, name: str) -> str:
        one, other = get_release(a), get_release(b)
        return next(since(switch, one, other) for switch in between(one, other) if switch.name == name)

    assert told("1.33", "1.34", "default_plugins") == "1.34"
    assert told("1.27", "1.34", "default_plugins") == "", "they changed several times"
    assert told("1.34", "1.34 SchedulerPopFromBackoffQ=false", "pop_from_backoff") == "1.33"
