"""Full analysis of a text: its objects with their lines, problems, explanations and the preview of the cluster."""

from __future__ import annotations

from typing import Any

from kubesched_ui.editor import config_validation, cross_checks, schema_validation
from kubesched_ui.editor.config_validation import effective_scores, release_of
from kubesched_ui.editor.constraint_text import sentences
from kubesched_ui.editor.diagnostics import Diagnostic
from kubesched_ui.editor.limits import MAX_PROBLEMS
from kubesched_ui.editor.object_index import IndexedObject, ObjectIndex, index_objects, lines_of
from kubesched_ui.editor.preview import preview
from kubesched_ui.editor.yaml_documents import Document, Position, Text, parse, position_of


def analyze(text: str) -> dict[str, Any]:
    """Return {things, scenario, config, effective, release, problems, errors, more, picture}.

    Raises InputError for a text that is too large.

    A thing is {kind, api, namespace, name, lines: [first, last], value, says: [[path, sentence]], bad: number of
    errors}. A problem is {severity, line, column, end, message, fix, value, thing}: lines and columns start at 0,
    `value` says whether the fix replaces the value and not the key, `thing` is the number of the object or null.
    `release`: the release that the scheduler configuration is checked against.
    """
    read_text = parse(text)
    things = index_objects(read_text)
    problems = _of_documents(read_text, things)
    told = []
    among = cross_checks.check(things)
    for number, thing in enumerate(things.objects):
        document = read_text.documents[thing.document]
        found = [*schema_validation.check(thing.value, thing.path), *among[number]]
        problems += [_problem(problem, document, number) for problem in found]
        told.append(_thing(thing, document, sum(problem.severity == "error" for problem in found)))
    problems.sort(key=lambda problem: (problem["line"], problem["column"]))
    return {
        "things": told,
        "scenario": _scenario(read_text, things),
        "config": _config(read_text, things),
        "effective": effective_scores(read_text, things),
        "release": release_of(read_text, things).name,
        "problems": problems[:MAX_PROBLEMS],
        "errors": sum(problem["severity"] == "error" for problem in problems),
        "more": max(0, len(problems) - MAX_PROBLEMS),
        "picture": preview(things.objects),
    }


def _of_documents(text: Text, things: ObjectIndex) -> list[dict[str, Any]]:
    """Return the problems of whole documents: unreadable YAML, no object, or a scenario or configuration that a run
    would reject.
    """
    problems = []
    for document in text.documents:
        if document.problem:
            place, message = document.problem
            problems.append(_at(place, message, "error"))
    for number, path in things.odd:
        document = text.documents[number]
        problems.append(
            _at(position_of(document, path), "is not an object: it needs apiVersion, kind and metadata", "error")
        )
    release = release_of(text, things)
    if things.scenario >= 0:
        document = text.documents[things.scenario]
        problems += [_problem(one, document) for one in cross_checks.check_scenario(document, things, release)]
    for number in things.configs:
        document = text.documents[number]
        problems += [_problem(one, document) for one in config_validation.check(document.value, release)]
    return problems


def _problem(problem: Diagnostic, document: Document, thing: int | None = None) -> dict[str, Any]:
    place = position_of(document, problem.path)
    return _at(place, problem.sentence, problem.severity, thing) | {"fix": problem.fix, "value": problem.value}


def _at(place: Position, message: str, severity: str, thing: int | None = None) -> dict[str, Any]:
    return {
        "severity": severity,
        "line": place.line,
        "column": place.column,
        "end": place.end,
        "message": message,
        "fix": "",
        "value": False,
        "thing": thing,
    }


def _thing(thing: IndexedObject, document: Document, bad: int) -> dict[str, Any]:
    return {
        "kind": thing.kind,
        "api": thing.api,
        "namespace": thing.namespace,
        "name": thing.name,
        "lines": lines_of(document, thing.path),
        "value": thing.value,
        "says": [[list(path), said] for path, said in sentences(thing.value)],
        "bad": bad,
    }


def _scenario(text: Text, things: ObjectIndex) -> dict[str, Any] | None:
    """Return the Scenario document without its objects, which are listed as things."""
    if things.scenario < 0:
        return None
    document = text.documents[things.scenario]
    value = dict(document.value)
    if isinstance(value.get("spec"), dict):
        value["spec"] = {key: held for key, held in value["spec"].items() if key != "objects"}
    return {"value": value, "lines": [document.line, document.last]}


def _config(text: Text, things: ObjectIndex) -> dict[str, Any] | None:
    """Return the configuration that is a document of its own. The last one counts, as in an upload."""
    if not things.configs:
        return None
    document = text.documents[things.configs[-1]]
    return {"value": document.value, "lines": [document.line, document.last]}
