"""Stores a lesson's run as an ordinary run, and links a step's focus to the pages of this run."""

from urllib.parse import urlencode

from django.db import transaction
from django.urls import reverse

from kubesched_ui.housekeeping import quota
from kubesched_ui.ingest.store import store
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import Focus
from kubesched_ui.lessons.runner import Played
from kubesched_ui.models import Run, Scenario, current_viewer
from kubesched_ui.runs.services import RunSettings, create_run
from kubesched_ui.runs.services import defaults as run_defaults
from scheduler_core.errors import InputError

# Point of a focus -> point of the pod page.
POINTS = {"filter": "filter", "score": "score", "postfilter": "postfilter"}


def address_of(run_id: int, focus: Focus | None, facts: Facts) -> str:
    """Return the address of a step's focus in a stored run. Raises Unknown."""
    if focus is None or not focus.pod:
        return reverse("run", args=[run_id])
    namespace, _, name = facts.pod_key(focus.pod).partition("/")
    query = {"attempt": str(facts.focused.attempt)}
    if focus.point not in ("queue", "walk"):
        query |= {"point": focus.point, "plugin": focus.plugin, "node": focus.node}
    parameters = urlencode({key: value for key, value in query.items() if value})
    return f"{reverse('pod', args=[run_id, namespace, name])}?{parameters}"


def open_run(lesson: Lesson, step: int) -> str:
    """Return the address of a step's focus in a stored run of the lesson. Create the run if the user has none. Raises
    Unknown, InputError."""
    facts = lesson.facts(step)
    if facts.run.settings.own:
        raise InputError("Lesson", "", "uses its own program in this run, so the run cannot be opened in the browser")
    name = f"Lesson: {lesson.title}"[:200]
    with transaction.atomic():
        scenario = _scenario(lesson, facts.run)
        wanted = settings_of(scenario, facts.run)
        known = Run.objects.filter(scenario=scenario, name=name, release=wanted.release, in_time=wanted.in_time)
        known = known.filter(owner=current_viewer.owner_id())
        run = known.order_by("-pk").first() or create_run(scenario, wanted, name=name)
    return address_of(run.pk, lesson.steps[step - 1].focus, facts)


def _scenario(lesson: Lesson, played: Played) -> Scenario:
    """Return the stored scenario of the lesson for this user: the sample, or a scenario of their own."""
    known = Scenario.objects.filter(name=played.given.name, time=played.given.time, config=played.given.config)
    if isinstance(lesson.head.scenario, str):
        known = known.filter(origin=Scenario.Origin.SAMPLE)
    else:
        known = known.filter(owner=current_viewer.owner_id(), origin=Scenario.Origin.UPLOAD)
    for scenario in known.order_by("-pk")[:5]:
        if list(scenario.objects_of()) == played.given.objects:
            return scenario
    about = f"Lesson: {lesson.head.summary}"
    return store(played.given, description=about, check=quota.check_storing)


def settings_of(scenario: Scenario, played: Played) -> RunSettings:
    """Return the settings of the lesson's run as a user would choose them."""
    mine = played.settings
    values = run_defaults(scenario, played.in_time)
    config = mine.config if mine.config is None or isinstance(mine.config, str) else to_yaml(mine.config)
    values |= {"release": played.release_name, "tie_break": mine.tie_break, "config": config}
    values |= {"preemption": mine.preemption and values.get("preemption", True)}
    values |= {"seed": mine.seed or values.get("seed", 0)}
    if mine.percentage is not None:
        values["percentage"] = mine.percentage
    return RunSettings(**values)
