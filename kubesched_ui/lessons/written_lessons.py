"""Lessons that users write in the browser about their scenarios.

The stored text is a lesson file without `scenario`; its scenario is the stored one. An exported file contains both, so
it can be imported, or become a lesson of the course.
"""

import re
import textwrap
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.utils import timezone

from kubesched_ui.housekeeping import quota
from kubesched_ui.ingest.errors import printable
from kubesched_ui.ingest.formats import scenario_document
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons import parser
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.models import MAX_NAME, Scenario, WrittenLesson, current_viewer
from kubesched_ui.scenarios import uploads
from scheduler_core.errors import InputError

MAX_TEXT = 60_000  # bytes
MAX_SCENARIO = parser.MAX_BYTES - MAX_TEXT - 1_000  # bytes as YAML, so that every exported file can be imported
MAX_OBJECTS = 1_000
CACHE_SIZE = 10  # lessons cached with their runs

START = """---
title: {title}
summary: What this lesson is about.
lights: [filter]
steps:
{step}---

## The first step

The cluster has {{{{ count(nodes()) }}}} nodes.
{revealed}"""
QUESTION = """  - title: The first step
    focus: {{pod: {pod}, point: filter}}
    ask:
      kind: lands
      hint: Compare the requests of the pod with the free resources of the nodes.
"""
REVEALED = """
### Revealed

`{pod}` is placed on `{{{{ node_of("{pod}") }}}}`.
"""


def spec_of(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as the `spec` of a Scenario document. Raises InputError if it is too large for a lesson."""
    number = sum(scenario.counts.values())
    if number > MAX_OBJECTS:
        raise _too_large(f"{number:,} objects; a lesson has at most {MAX_OBJECTS:,}")
    about = (scenario.description, scenario.kubernetes, scenario.config, scenario.time)
    found: dict[str, Any] = scenario_document(scenario.name, scenario.objects_of(), *about)["spec"]
    if (size := len(to_yaml(found).encode())) > MAX_SCENARIO:
        raise _too_large(f"{size:,} bytes as YAML; a lesson has at most {MAX_SCENARIO:,}")
    return found


def _too_large(what: str) -> InputError:
    return InputError("Scenario", "", f"has {what}. Remove what the lesson does not need")


def lesson_of(written: WrittenLesson) -> Lesson:
    """Return a written lesson. Raises LessonError, InputError."""
    return _lesson(written.pk, written.updated_at, written.scenario_id)


@lru_cache(CACHE_SIZE)
def _lesson(pk: int, updated_at: datetime, scenario_id: int) -> Lesson:
    written = WrittenLesson._base_manager.get(pk=pk)
    scenario = Scenario._base_manager.get(pk=scenario_id)
    file = parser.parsed(f"lesson-{pk}", written.text.encode(), spec_of(scenario))
    for name, settings in file.head.runs.items():
        if settings.own or settings.scenario:
            raise file.error(
                f"runs.{name}",
                "must not have `extender`, `plugins` or `scenario`; only lessons of the course have them",
            )
    return Lesson(file)


def title_in(text: str) -> str:
    """Return the title of a text that may be invalid."""
    found = re.search(r"^title: *(.+)$", text[:MAX_TEXT], re.M)
    return printable(found[1].strip().strip("\"'"))[:MAX_NAME] if found else "Untitled lesson"


def save(written: WrittenLesson, text: str) -> None:
    """Store a text, even if it has problems. Raises InputError if it is too large, and OverQuota."""
    written.text = clean(text)
    written.name, written.updated_at = title_in(written.text), timezone.now()
    with transaction.atomic():
        if written.pk is None:
            quota.check_lesson()
        written.save()
        Scenario._base_manager.filter(pk=written.scenario_id).update(stored_bytes=None)  # measured again


def clean(text: str) -> str:
    """Return a text as it is stored. Raises InputError if it is too large."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_TEXT:
        raise InputError("Lesson", "", f"has {size:,} bytes; the maximum is {MAX_TEXT:,}")
    return text.encode("utf-8", "replace").decode()


def create(scenario: Scenario, text: str = "") -> WrittenLesson:
    """Store a lesson about a scenario, at first a short text that works. A scenario of another user, or a sample, is
    copied. Raises InputError and the errors of uploads."""
    spec = spec_of(scenario)
    text = text or start_text(scenario, spec)
    if scenario.origin == Scenario.Origin.SAMPLE or scenario.owner_id != current_viewer.owner_id():
        document = scenario_document(scenario.name, spec["objects"], time={**spec})
        scenario = uploads.store_upload([("scenario.yaml", to_yaml(document).encode())]).scenario
    written = WrittenLesson(scenario=scenario)
    save(written, text)
    return written


def start_text(scenario: Scenario, spec: dict[str, Any]) -> str:
    """Return the text of a new lesson: where is the first pending pod placed?"""
    created = (entry["create"] for entry in spec.get("timeline", ()) if "create" in entry)
    pods = (obj for obj in [*spec["objects"], *created] if obj.get("kind") == "Pod")
    pending = (obj["metadata"] for obj in pods if not (obj.get("spec") or {}).get("nodeName"))
    first = next(iter(pending), None)
    title = to_yaml(f"A lesson about {scenario.name}", flow=True).removesuffix("...\n").strip()
    if first is None:
        return START.format(title=title, step="  - title: The first step\n", revealed="")
    namespace = first.get("namespace") or "default"
    pod = first["name"] if namespace == "default" else f"{namespace}/{first['name']}"
    return START.format(title=title, step=QUESTION.format(pod=pod), revealed=REVEALED.format(pod=pod))


def exported(written: WrittenLesson) -> str:
    """Return a lesson as a file of the course, with its scenario. Raises InputError."""
    head, between, text = written.text.partition("\n---\n")
    scenario = f"scenario:\n{textwrap.indent(to_yaml(spec_of(written.scenario)), '  ')}".rstrip("\n")
    return f"{head}\n{scenario}{between}{text}" if between else f"{written.text}\n{scenario}\n"


def imported(data: bytes) -> WrittenLesson:
    """Store a lesson file: its scenario as a scenario of the user, and its text. Raises LessonError, InputError and the
    errors of uploads."""
    text, name, document = separated(data)
    clean(text)
    scenario = uploads.store_upload([(name, document)], name=f"Lesson: {title_in(text)}"[:MAX_NAME]).scenario
    try:
        written = WrittenLesson(scenario=scenario)
        save(written, text)
    except InputError:
        scenario.delete()
        raise
    return written


def separated(data: bytes) -> tuple[str, str, bytes]:
    """Return the text of a lesson file without its scenario, and its scenario as a file: name and content. Raises
    LessonError."""
    file = parser.parsed("lesson", data)
    lines = data.decode().replace("\r\n", "\n").split("\n")
    begin = next((i for i, line in enumerate(lines) if line.startswith("scenario:")), 0)
    end = begin + 1
    while end < len(lines) and (not lines[end] or lines[end][0] in " #"):
        end += 1
    text = "\n".join(lines[:begin] + lines[end:])
    name, document = Lesson(file).document
    try:
        same = begin and parser.parsed("lesson", text.encode(), {}).head.steps == file.head.steps
    except LessonError:
        same = False
    if not same:
        raise file.error("scenario", "must be a key at the beginning of a line, with its value indented below it")
    return text, name, document
