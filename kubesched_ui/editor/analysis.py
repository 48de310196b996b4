"""Full analysis of a text: its objects with their lines, problems, explanations and the preview of the cluster."""

from typing import Any

from kubesched_ui.editor import config_validation, cross_checks, schema_validation
from kubesched_ui.editor.config_validation import release_of
from kubesched_ui.editor.constraint_text import sentences
from kubesched_ui.editor.diagnostics import Diagnostic
from kubesched_ui.editor.limits import MAX_PROBLEMS
from kubesched_ui.editor.object_index import IndexedObject, ObjectIndex, index_objects, lines_of
from kubesched_ui.editor.preview import preview
from kubesched_ui.editor.yaml_documents import Document, Text, TextPosition, parse, position_of


def analyze(text: str) -> dict[str, Any]:
    """Return {things, scenario, config, release, problems, errors, more, picture}.

    Raises InputError for a text that is too large.

    A thing is {kind, api, namespace, name, lines: [first, last], value, says: [[path, sentence]], bad: number of
    errors}. A problem is {severity, line, column, end, message, fix, value, thing}: lines and columns start at 0,
    `value` says whether the fix replaces the value and not the key, `thing` is the number of the object or null.
    `release`: the release that the scheduler configuration is checked against.
    """
    read_text = parse(text)
    object_index = index_objects(read_text)
    problems = _of_documents(read_text, object_index)
    described = []
    among = cross_checks.check(object_index)
    for number, obj in enumerate(object_index.objects):
        document = read_text.documents[obj.document]
        found = [*schema_validation.check(obj.value, obj.path), *among[number]]
        problems += [_problem(problem, document, number) for problem in found]
        described.append(_thing(obj, document, sum(problem.severity == "error" for problem in found)))
    problems.sort(key=lambda problem: (problem["line"], problem["column"]))
    return {
        "things": described,
        "scenario": _scenario(read_text, object_index),
        "config": _config(read_text, object_index),
        "release": release_of(read_text, object_index).name,
        "problems": problems[:MAX_PROBLEMS],
        "errors": sum(problem["severity"] == "error" for problem in problems),
        "more": max(0, len(problems) - MAX_PROBLEMS),
        "picture": preview(object_index.objects),
    }


def _of_documents(text: Text, object_index: ObjectIndex) -> list[dict[str, Any]]:
    """Return the problems of whole documents: unreadable YAML, no object, or a scenario or configuration that a run
    would reject."""
    problems = []
    for document in text.documents:
        if document.problem:
            place, message = document.problem
            problems.append(_at(place, message, "error"))
    for number, path in object_index.odd:
        document = text.documents[number]
        problems.append(
            _at(position_of(document, path), "is not an object: it needs apiVersion, kind and metadata", "error")
        )
    release = release_of(text, object_index)
    if object_index.scenario >= 0:
        document = text.documents[object_index.scenario]
        problems += [_problem(one, document) for one in cross_checks.check_scenario(document, object_index, release)]
    for number in object_index.configs:
        document = text.documents[number]
        problems += [_problem(one, document) for one in config_validation.check(document.value, release)]
    return problems


def _problem(problem: Diagnostic, document: Document, obj: int | None = None) -> dict[str, Any]:
    place = position_of(document, problem.path)
    return _at(place, problem.sentence, problem.severity, obj) | {"fix": problem.fix, "value": problem.value}


def _at(place: TextPosition, message: str, severity: str, obj: int | None = None) -> dict[str, Any]:
    return {
        "severity": severity,
        "line": place.line,
        "column": place.column,
        "end": place.end,
        "message": message,
        "fix": "",
        "value": False,
        "thing": obj,
    }


def _thing(obj: IndexedObject, document: Document, bad: int) -> dict[str, Any]:
    return {
        "kind": obj.kind,
        "api": obj.api,
        "namespace": obj.namespace,
        "name": obj.name,
        "lines": lines_of(document, obj.path),
        "value": obj.value,
        "says": [[list(path), sentence] for path, sentence in sentences(obj.value)],
        "bad": bad,
    }


def _scenario(text: Text, object_index: ObjectIndex) -> dict[str, Any] | None:
    """Return the Scenario document without its objects, which are listed as things."""
    if object_index.scenario < 0:
        return None
    document = text.documents[object_index.scenario]
    value = dict(document.value)
    if isinstance(value.get("spec"), dict):
        value["spec"] = {key: held for key, held in value["spec"].items() if key != "objects"}
    return {"value": value, "lines": [document.line, document.last]}


def _config(text: Text, object_index: ObjectIndex) -> dict[str, Any] | None:
    """Return the configuration that is a separate document. The last one counts, as in an upload."""
    if not object_index.configs:
        return None
    document = text.documents[object_index.configs[-1]]
    return {"value": document.value, "lines": [document.line, document.last]}
