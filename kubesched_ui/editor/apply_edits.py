"""Applies form edits to a text: changes, adds and removes objects, and sets the scenario and the configuration."""

import copy
from itertools import pairwise
from typing import Any

from kubesched_ui.editor.config_validation import release_of
from kubesched_ui.editor.limits import MAX_CHANGES
from kubesched_ui.editor.object_index import ObjectIndex, index_objects, is_scenario, list_of
from kubesched_ui.editor.yaml_documents import Text, parse
from kubesched_ui.editor.yaml_edit import edits, new_document, rewritten
from kubesched_ui.ingest.formats import OUR_API, SCENARIO_KIND
from kubesched_ui.ingest.values import Path, as_map, member
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.runs import scoring
from scheduler_core.config.discovery import find
from scheduler_core.errors import InputError

WHERE = "the change"
Change = dict[str, Any]


class _Draft:
    """The values of a text's documents during an edit."""

    def __init__(self, text: Text, object_index: ObjectIndex) -> None:
        self.text, self.object_index = text, object_index
        self.values = [copy.deepcopy(document.value) for document in text.documents]
        self.removed_documents: set[int] = set()
        self.removed: dict[int, list[int]] = {}  # document -> removed elements of its list
        self.added: dict[int, list[Any]] = {}  # document after which to insert (-1: at the start) -> new values
        # document -> (element of its list after which to insert, value)
        self.more: dict[int, list[tuple[int, Any]]] = {}

    def set(self, document: int, path: Path, value: Any) -> None:
        if not path:
            self.values[document] = value
            return
        container = self.values[document]
        for step in path[:-1]:
            container = container[step]
        container[path[-1]] = value

    def add(self, value: Any, after: int | None) -> None:
        """Add a value after an object or at the end: to the list of that object, or as a new document."""
        objects = self.object_index.objects
        obj = objects[-1 if after is None else after] if objects else None
        if obj is not None and obj.path:
            self.more.setdefault(obj.document, []).append((obj.index, value))
        else:
            place = len(self.values) - 1 if obj is None or after is None else obj.document
            self.added.setdefault(place, []).append(value)

    def remove(self, number: int) -> None:
        obj = self.object_index.objects[number]
        if not obj.path:
            self.removed_documents.add(obj.document)
        else:
            self.removed.setdefault(obj.document, []).append(obj.index)

    def lines(self) -> list[list[str]]:
        """Return the lines of each document and of the new documents."""
        found: list[list[str]] = []
        for value in self.added.get(-1, ()):
            found.append(new_document(value, first=not found))
        for number, document in enumerate(self.text.documents):
            if number not in self.removed_documents:
                lines = list(rewritten(document, self._finished(number)))
                begins = not lines or not lines[0].startswith("---")
                if found and begins and any(line.strip() for line in lines):
                    lines = ["---", *lines]
                found.append(lines)
            for value in self.added.get(number, ()):
                found.append(new_document(value, first=not any(line.strip() for lines in found for line in lines)))
        return self._tidied(found)

    def _finished(self, number: int) -> Any:
        value = self.values[number]
        more, removed = self.more.get(number, []), self.removed.get(number, [])
        if not more and not removed:
            return value
        container = member(value, list_of(value) or ())
        items = []
        for index, item in enumerate(container):
            if index not in removed:
                items.append(item)
            items += [one for after, one in more if after == index]
        container[:] = items
        return value

    @staticmethod
    def _tidied(found: list[list[str]]) -> list[list[str]]:
        """Remove blank lines at the end of a document if another document follows."""
        for lines, after in pairwise(found):
            while after and after[0].startswith("---") and len(lines) > 1 and not lines[-1].strip():
                lines.pop()
        if found and not any(line.strip() for line in found[0]) and len(found) > 1:
            found.pop(0)
        if found and found[-1] and found[-1][-1].strip():
            found[-1].append("")
        return found


def apply_changes(text: str, changes: Any) -> dict[str, Any] | None:
    """Return the changed lines as `yaml_edit.edits` does, or None if nothing changes. Raises InputError.

    A change is one of {"thing": number, "value": object}, {"thing": number, "remove": true}, {"add": object,
    "after": number or null}, {"scenario": document}, {"config": document or null}, {"scoring": values of the form of
    strategy and weights}. Numbers are those of `reading` of the same text.
    """
    before = parse(text)
    object_index = index_objects(before)
    if not isinstance(changes, list) or not 1 <= len(changes) <= MAX_CHANGES:
        raise InputError(WHERE, "", f"must be a list of 1 to {MAX_CHANGES:,} changes")
    working = _Draft(before, object_index)
    for change in changes:
        _apply(change, working)
    return edits(before, working.lines())


def _apply(change: Any, working: _Draft) -> None:
    objects = working.object_index.objects
    if not isinstance(change, dict):
        raise InputError(WHERE, "", "must be an object")
    number = change.get("thing")
    if number is not None:
        if not isinstance(number, int) or not 0 <= number < len(objects):
            raise InputError(WHERE, "thing", "is not the number of an object")
        if change.get("remove") is True:
            working.remove(number)
        else:
            working.set(objects[number].document, objects[number].path, _object(change.get("value"), "value"))
    elif "add" in change:
        after = change.get("after")
        if after is not None and (not isinstance(after, int) or not 0 <= after < len(objects)):
            raise InputError(WHERE, "after", "is not the number of an object")
        working.add(_object(change["add"], "add"), after)
    elif "scenario" in change:
        _scenario(change["scenario"], working)
    elif "config" in change:
        _config(change["config"], working)
    elif "scoring" in change:
        _score(_object(change["scoring"], "scoring"), working)
    else:
        raise InputError(WHERE, "", "must have one of the keys thing, add, scenario, config and scoring")


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(WHERE, field, "must be an object")
    return value


def _scenario(value: Any, working: _Draft) -> None:
    """Set the scenario document. Its objects are kept."""
    at = working.object_index.scenario
    value = _object(value, "scenario")
    value = {"apiVersion": OUR_API, "kind": SCENARIO_KIND, **value}
    if not is_scenario(value) or not isinstance(value.get("spec", {}), dict):
        raise InputError(WHERE, "scenario", f"must be of kind {SCENARIO_KIND} and have a spec")
    value.setdefault("spec", {})
    if at < 0:
        working.added.setdefault(-1, []).insert(0, value)
        return
    spec = working.values[at].get("spec")
    if isinstance(spec, dict) and "objects" in spec:
        value["spec"]["objects"] = spec["objects"]
    working.values[at] = {key: value[key] for key in (*working.values[at], *value) if key in value}
    order = [*(spec if isinstance(spec, dict) else ()), *value["spec"]]
    working.values[at]["spec"] = {key: value["spec"][key] for key in order if key in value["spec"]}


def _config(value: Any, working: _Draft) -> None:
    """Set or remove the configuration that is a separate document."""
    configs = working.object_index.configs
    if value is None:
        working.removed_documents.update(configs)
    elif configs:
        working.values[configs[-1]] = _object(value, "config")
    else:
        working.added.setdefault(len(working.values) - 1, []).append(_object(value, "config"))


def _score(form: dict[str, Any], working: _Draft) -> None:
    """Set strategy and weights in the configuration: the separate document, else that of the scenario."""
    configs, at = working.object_index.configs, working.object_index.scenario
    scenario = working.values[at] if at >= 0 else {}
    spec = as_map(scenario.get("spec"))
    held = working.values[configs[-1]] if configs else spec.get("config")
    chosen = scoring.scoring_in({name: value for name, value in form.items() if isinstance(value, str)})
    release = release_of(working.text, working.object_index).name
    text = scoring.scored(held if isinstance(held, str) else to_yaml(held) if held else "", release, chosen)
    if not text:
        return
    value = find(text)[0].raw
    if configs:
        _config(value, working)
    else:
        _scenario({**scenario, "spec": {**spec, "config": value}}, working)
