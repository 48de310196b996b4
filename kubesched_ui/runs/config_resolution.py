"""Selects a run's scheduler configuration: the one given for it, or the one uploaded with its cluster."""

from kubesched_ui.models import Scenario
from scheduler_core.config import Unknown, UnknownPlugins, UnreadPolicy
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation

CAME_WITH_IT = "The scheduler configuration of the upload is not used"


def check(config: str, release: str, unknown: Unknown) -> None:
    """Raise InputError if the release cannot run with this configuration; "" is its default."""
    if config:
        Simulation([], release=release, config=config, unknown_plugins=unknown)


def translated(config: str, release: str, unknown: Unknown) -> str:
    """Convert a Policy for a release that does not accept one to an equivalent configuration. Return other texts
    unchanged."""
    try:
        check(config, release, unknown)
    except UnreadPolicy as error:
        return error.instead or config
    except InputError:
        pass
    return config


def chosen(scenario: Scenario, given: str | None, release: str, unknown: Unknown) -> tuple[str, list[str]]:
    """Return the configuration of a run, and remarks about it.

    `given`: "" is the release's default, None selects what suits the scenario. Only an invalid `given` raises
    InputError; an uploaded configuration that is unusable is left out.
    """
    own = scenario.config
    if given is not None:
        check(given, release, unknown)
        if not own or same(own, given):
            return given, []
        if given:
            return given, [f"{CAME_WITH_IT}: the run has its own configuration"]
    wrong = refusal(own, release, unknown)
    if given is None and not wrong:
        return own, []
    return "", [f"{CAME_WITH_IT}: {wrong or 'the run uses the default configuration of its release'}"]


def refusal(config: str, release: str, unknown: Unknown) -> str:
    """Return why the release cannot run with an uploaded configuration; "" if it can."""
    try:
        check(config, release, unknown)
    except UnknownPlugins as error:
        hint = "" if error.rest else "; without these plugins, the rest of it can be used"
        return f"{error}{hint}"
    except InputError as error:
        return str(error)
    return ""


def same(one: str, other: str) -> bool:
    """Return whether two texts have the same content: browsers change line ends, and users convert YAML to JSON."""
    try:
        return read_documents(one, "") == read_documents(other, "")
    except InputError:
        return one.split() == other.split()
