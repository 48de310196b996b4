"""The releases that a form offers: the minor releases, and their patch releases in a group for each."""

from collections.abc import Callable

from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.catalog import patch_names
from scheduler_core.releases.versions import numbered

Choices = list[tuple[str, list[tuple[str, str]]]]


def release_choices(own: str = "", label: Callable[[str], str] = str) -> Choices:
    """Return groups of (name, label), newest first. `own`: a further release, if it is one that the lists lack.

    `label`: of a minor release.
    """
    newest_first = list(reversed(RELEASES))
    minors = [(name, label(name)) for name in newest_first]
    patches = [(f"Patch releases of {name}", [(one, one) for one in patch_names(name)]) for name in newest_first]
    listed = {name for _, group in (("", minors), *patches) for name, _ in group}
    further = [(own, own)] if own not in listed and is_release(own) else []
    return [("Minor releases", [*further, *minors]), *patches]


def is_release(name: str) -> bool:
    """Return whether this is the name of a minor or patch release, without feature gates."""
    try:
        release = get_release(name)
    except InputError:
        return False
    return release.name == name == release.number


def in_order(names: set[str]) -> list[str]:
    """Return the names of releases, oldest first. Raises InputError for one that does not exist."""
    return sorted(names, key=lambda name: numbered(get_release(name).version))
