"""The moments of moving pictures, and names in their texts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.event_log.events import Event
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.runner import Played


class PictureMoment(NamedTuple):
    """A moment of a picture. `when`: its second. `state`: of the picture, for the browser. `body`: what its own part of
    the picture shows, for the template."""

    text: str
    when: str = ""
    state: Mapping[str, Any] = {}
    body: Mapping[str, Any] = {}


Drawn = tuple[list[PictureMoment], dict[str, Any]]  # the moments, and data that they share


def name_of(key: str) -> SafeString:
    """Return the name of a pod, or of a node, as code."""
    return format_html("<code>{}</code>", key.removeprefix("default/"))


def names_of(keys: Sequence[str]) -> SafeString:
    """Return names as `a, b and c`."""
    if len(keys) < 2:
        return name_of(keys[0]) if keys else format_html("none")
    return format_html(
        "{} and {}", format_html_join(", ", "{}", ((name_of(key),) for key in keys[:-1])), name_of(keys[-1])
    )


def run_in_time(facts: Facts) -> Played:
    """Return the run. Raises Unknown if it is not in virtual time."""
    if not facts.run.in_time:
        raise Unknown("shows seconds, so the run must be in virtual time")
    return facts.run


def sentence_of(event: Event) -> str:
    """Return an event as a sentence without a full stop, that begins with a capital letter or a name."""
    text = event_sentence(event).replace("default/", "")
    return text[:1].upper() + text[1:] if text.startswith(("node ", "the ", "attempt ")) else text
