"""The editor of written lessons: a form for each step, the whole text as Markdown, problems and preview."""

import hashlib
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons import decisive_fields, lesson_source, lint, questions, step_fields, written_lessons
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.lesson_source import LessonSource
from kubesched_ui.lessons.machine import PARTS
from kubesched_ui.lessons.step_fields import StepFields
from kubesched_ui.models import WrittenLesson
from kubesched_ui.views.form_fields import to_number
from kubesched_ui.views.lessons import printed_context
from kubesched_ui.views.written_lessons import find
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS

NAMES = 40  # names of each kind that the page offers
CHANGED = "The lesson has changed since this page was opened. Copy your input, then open this step again."
SEARCH_SECONDS = 1.5  # for one part of the search for hidden fields


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Edit a `step`, 0 for the lesson itself; `as=markdown`: the whole text."""
    written = find(lesson_id)
    if request.method == "POST" and "text" in request.POST:
        return save_text(request, written)
    if request.GET.get("as") == "markdown":
        return text_page(request, written)
    try:
        source = lesson_source.split(written.text)
    except LessonError as problem:
        return text_page(request, written, problem=problem)
    if request.method == "POST":
        return save_step(request, written, source)
    number = to_number(request.GET.get("step", "1")) or 0
    return step_page(request, written, source, min(number, len(source.steps)))


# ---- the whole text


def text_page(request: HttpRequest, written: WrittenLesson, status: int = 200, **context: Any) -> HttpResponse:
    """Show the text. `problem`: why forms cannot edit it. `error`: why it was not stored."""
    context = {"text": written.text, "most": written_lessons.MAX_TEXT, "kinds": questions.TEXTS.items()} | context
    context |= {"written": written, "names": names_in(written), "embeds": bool(settings.EMBED_ORIGINS)}
    return render(request, "written_lesson_text.html", context, status=status)


def save_text(request: HttpRequest, written: WrittenLesson) -> HttpResponse:
    """Store the text, even if it has problems."""
    try:
        written_lessons.save(written, request.POST["text"])
    except InputError as problem:
        return text_page(request, written, 400, text=request.POST["text"], error=str(problem))
    return redirect(f"{reverse('written-edit', args=[written.pk])}?as=markdown")


def names_in(written: WrittenLesson) -> list[tuple[str, list[str]]]:
    """Return the names of the first pods and nodes of the scenario, as a focus names them: kind -> names."""
    rows = written.scenario.cluster_objects.order_by("position")
    pods = rows.filter(kind="Pod").values_list("namespace", "name")[:NAMES]
    nodes = rows.filter(kind="Node").values_list("name", flat=True)[:NAMES]
    named_pods = [name if namespace in ("", "default") else f"{namespace}/{name}" for namespace, name in pods]
    return [("Pods", named_pods), ("Nodes", list(nodes))]


# ---- a step


def version_of(written: WrittenLesson) -> str:
    """Return a text that changes with the lesson."""
    return hashlib.sha256(written.text.encode()).hexdigest()[:16]


def step_page(
    request: HttpRequest, written: WrittenLesson, source: LessonSource, number: int, status: int = 200, **sent: Any
) -> HttpResponse:
    """Show the form of a step. `sent`: what was sent and not stored, with its `errors`."""
    context: dict[str, Any] = {"written": written, "number": number, "version": version_of(written)}
    context |= {"embeds": bool(settings.EMBED_ORIGINS), "steps": titles(source)}
    context["query"] = f"?step={number}" if number else ""
    context |= step_context(written, source, number) if number else head_context(source)
    context |= sent
    if context.get("fields"):
        context["rows"] = step_fields.rows(context["fields"])
    return render(request, "written_lesson_edit.html", context, status=status)


def titles(source: LessonSource) -> list[str]:
    """Return the title of each step."""
    return [step.section[0].removeprefix("## ").strip() for step in source.steps]


def head_context(source: LessonSource) -> dict[str, Any]:
    """Return the context of the form of the lesson itself."""
    found: dict[str, Any] = {name: str(source.head_value(name) or "") for name in ("title", "summary")}
    runs = source.head_value("runs")
    return {
        "head": found | {"runs": to_yaml(runs).rstrip("\n") if runs else ""},
        "lights": source.head_value("lights") or [],
        "fixed": fixed(source),
        "parts": PARTS,
    }


def fixed(source: LessonSource) -> list[str]:
    """Return the keys of the head that the form cannot show or change."""
    values = {name: source.head_value(name) for name in ("title", "summary", "lights", "runs")}
    odd = {name for name in ("title", "summary") if not isinstance(values[name], str | None)}
    lights = values["lights"] or []
    if not isinstance(lights, list) or not {part.name for part in PARTS}.issuperset(map(str, lights)):
        odd.add("lights")
    return [name for name in values if name in odd or not source.editable(name)]


def step_context(written: WrittenLesson, source: LessonSource, number: int) -> dict[str, Any]:
    """Return the context of the form of a step, or of its text if the form cannot show all of it."""
    step, found = source.steps[number - 1], step_fields.fields_of(source, number)
    runs = source.head_value("runs")
    return {
        "fields": found,
        "raw": None if found else {"item": "\n".join(step.head), "section": "\n".join(step.section)},
        "kinds": questions.TEXTS.items(),
        "points": step_fields.POINTS,
        "units": step_fields.UNITS,
        "slips": step_fields.SLIPS,
        "names": dict(names_in(written)),
        "plugins": sorted(PLUGINS),
        "runs": list(runs) if isinstance(runs, dict) else [],
    }


def save_step(request: HttpRequest, written: WrittenLesson, source: LessonSource) -> HttpResponse:
    """Store a step, then add, move or delete one, or go to another, as the button `do` says."""
    form, number = request.POST, to_number(request.POST.get("step", "")) or 0
    action, _, to = form.get("do", "").partition(":")
    sent = sent_values(form, number)
    if form.get("version") != version_of(written) or number > len(source.steps):
        return step_page(request, written, source, min(number, len(source.steps)), 409, errors=[CHANGED], **sent)
    errors = [] if action == "delete" else store(form, source, number)
    if not errors:
        at = act(written, source, number, action, to)
        try:
            if len(lesson_source.split(source.text).steps) != len(source.steps):
                raise InputError("", "", "The item and the section must be of one step")
            written_lessons.save(written, source.text)
        except (InputError, LessonError) as problem:
            errors = [str(problem)]
    if errors:
        kept = lesson_source.split(written.text)
        return step_page(request, written, kept, number, 400, errors=errors, **sent)
    return redirect(f"{reverse('written-edit', args=[written.pk])}?step={at}")


def sent_values(form: QueryDict, number: int) -> dict[str, Any]:
    """Return what a form sent, to show it again."""
    if not number:
        head = {name: form.get(name, "") for name in ("title", "summary", "runs")}
        return {"head": head, "lights": form.getlist("lights")}
    if "item" in form:
        return {"raw": {"item": form["item"], "section": form.get("section", "")}, "fields": None}
    return {"fields": step_fields.posted(form), "raw": None}


def store(form: QueryDict, source: LessonSource, number: int) -> list[str]:
    """Store what was sent in the parts of the text. Return why it is not accepted."""
    if not number:
        return store_head(form, source)
    if "item" in form:
        step = source.steps[number - 1]
        step.head, step.section = (
            written_lessons.clean(form.get(name, "")).split("\n") for name in ("item", "section")
        )
        return []
    found = step_fields.posted(form)
    errors = step_fields.problems(found)
    if not errors:
        step_fields.apply(source, number, found)
    return [f"Step {number}, {error}" for error in errors]


def store_head(form: QueryDict, source: LessonSource) -> list[str]:
    """Store the fields of the lesson itself. Return why they are not accepted."""
    title, summary = (" ".join(form.get(name, "").split()) for name in ("title", "summary"))
    try:
        runs = lesson_source.parse(form.get("runs", ""))
    except LessonError as problem:
        return [f"Runs, line {problem.line - 1}: {problem.problem}"]
    if not title:
        return ["Title: must not be empty"]
    lights = [part.name for part in PARTS if part.name in form.getlist("lights")]
    kept = fixed(source)
    for name, value in {"title": title, "summary": summary, "lights": lights, "runs": runs}.items():
        if name not in kept and (name != "lights" or {*lights} != {*(source.head_value(name) or ())}):
            source.set_head(name, value)
    return []


def act(written: WrittenLesson, source: LessonSource, number: int, action: str, to: str) -> int:
    """Add, move or delete a step. Return the number of the step to show."""
    steps, at = source.steps, number - 1
    if action == "add":
        source.add(number, {"title": "Another step"})
        return number + 1
    if action == "break":
        source.add(len(steps), *now_break_it(written, source))
        return len(steps)
    if action == "delete" and number and len(steps) > 1:
        del steps[at]
        return min(number, len(steps))
    if action in ("up", "down") and number:
        other = at - 1 if action == "up" else at + 1
        if 0 <= other < len(steps):
            steps[at], steps[other] = steps[other], steps[at]
            return other + 1
    return min(to_number(to) or 0, len(steps)) if action == "go" else number


def now_break_it(written: WrittenLesson, source: LessonSource) -> tuple[dict[str, Any], str]:
    """Return a last step that asks for a change: its item in the head, and its text."""
    focused = [found.pod for n in range(1, len(source.steps) + 1) if (found := step_fields.fields_of(source, n))]
    pod = next(filter(None, reversed(focused)), "") or next(iter(names_in(written)[0][1]), "web")
    field = f"Pod/{pod} spec.containers[0].resources.requests.cpu"
    found = StepFields(
        title="Now break it",
        pod=pod,
        point="filter",
        kind="change",
        question=f"Change one field so that `{pod}` is placed nowhere.",
        fields=field,
        goal=f"node_of('{pod}') == 'nowhere'",
        solution_field=field,
        solution_value="1000",
        hint="Compare the requests of the pod with the free resources of the nodes.",
    )
    return step_fields.value_of(found), ""


# ---- problems and preview


@require_GET
def check(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Show the problems of the text, and the steps with their answers: all, or the `step`."""
    written, step = find(lesson_id), to_number(request.GET.get("step", ""))
    context: dict[str, Any] = {"written": written}
    problems: list[LessonError | InputError]
    try:
        lesson = written_lessons.lesson_of(written)
        problems = [*lint.problems(lesson)]
        with suppress(Unknown, InputError):  # a problem of the list prevents the preview
            context |= printed_context(lesson, True, step)
    except (LessonError, InputError) as problem:
        problems = [problem]
    try:
        source = lesson_source.split(written.text)
    except LessonError:
        source = None
    context["problems"] = [step_fields.placed(problem, source) for problem in problems]
    return render(request, "written_lesson_check.html", context)


@require_GET
def search_hidden_fields(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Show the hidden fields that decide an answer, and how far the search came. `from`: the number of the field of the
    scenario at which it goes on."""
    written, start = find(lesson_id), to_number(request.GET.get("from", "")) or 0
    try:
        lesson = written_lessons.lesson_of(written)
        found = decisive_fields.search(lesson, start, SEARCH_SECONDS)
    except (LessonError, InputError, Unknown) as problem:
        raise Http404(f"The lesson has a problem: {problem}") from None
    return render(request, "written_lesson_search.html", {"written": written, "search": found})
