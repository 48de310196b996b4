"""Write the table by which `scheduler_core/etcd` decodes objects, from the Go sources of the Kubernetes API.

    python scripts/kubernetes_protobuf.py NEWER OLDER > scheduler_core/etcd/kubernetes.json

Each folder is `staging/src/k8s.io` of a release of Kubernetes, with `api` and `apimachinery`. The newest that has a
package counts: older releases add the API versions that are gone since. The tags of the Go structs hold the number and
the JSON name of each field, and the types say when an empty value is written.
"""

import json
import re
import sys
from pathlib import Path

# Package -> kinds that are decoded, in all versions that the sources have.
KINDS = {
    "core": "Node Namespace PersistentVolume Pod Service ReplicationController PersistentVolumeClaim Event"
    " ResourceQuota LimitRange",
    "apps": "Deployment ReplicaSet DaemonSet StatefulSet",
    "batch": "Job CronJob",
    "policy": "PodDisruptionBudget",
    "scheduling": "PriorityClass PodGroup Workload",
    "storage": "StorageClass CSINode CSIDriver VolumeAttachment CSIStorageCapacity",
    "resource": "ResourceClaim ResourceClaimTemplate DeviceClass ResourceSlice DeviceTaintRule",
}
GROUPS = {"scheduling": "scheduling.k8s.io", "storage": "storage.k8s.io", "resource": "resource.k8s.io", "core": ""}
PACKAGES = {"v1": "core.v1", "apiv1": "core.v1"}  # names of imports; the others are as `batchv1`
IMPORT = re.compile(r"([a-z]+)(v\d\w*)")
LEFT_OUT = ("managedFields", "selfLink")  # large, or gone, and of no use here
SPECIAL = {
    "metav1.Time": "time",
    "metav1.MicroTime": "microtime",
    "metav1.Duration": "duration",
    "metav1.FieldsV1": "raw",
    "runtime.RawExtension": "raw",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "int-or-string",
    "string": "string",
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "float64": "double",
    "[]byte": "bytes",
}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
ALIAS = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.M)
FIELD = re.compile(r'^\t(?:(\w+) +)?(\S+) +`json:"([^"]*)"[^`]*? protobuf:"(\w+),(\d+),', re.M)


def main(*folders: str) -> None:
    sources: dict[str, Path] = {}
    for path in (path for folder in folders for path in Path(folder).glob("api*/**/types.go")):
        sources.setdefault(f"{path.parent.parent.name}.{path.parent.name}", path)
    structs: dict[str, tuple[str, str]] = {}
    aliases: dict[str, tuple[str, str]] = {}
    for package, path in sources.items():
        text = path.read_text()
        structs |= {f"{package}.{name}": (package, body) for name, body in STRUCT.findall(text)}
        aliases |= {f"{package}.{name}": (package, of) for name, of in ALIAS.findall(text)}
    table: dict[str, dict[str, list[object]]] = {}
    kinds = {}
    for package in sorted(sources):
        group, version = package.split(".")
        for kind in KINDS.get(group, "").split():
            if f"{package}.{kind}" in structs:
                api = GROUPS.get(group, group)
                kinds[f"{api}/{version}/{kind}".lstrip("/")] = f"{package}.{kind}"
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        if name in table:
            continue
        package, body = structs[name]
        fields = {}
        for _, go, tag, _, number in FIELD.findall(body):
            json_name, _, options = tag.partition(",")
            if json_name in LEFT_OUT:
                continue
            code = _code(go, package, structs, aliases)
            always = go.startswith("*") or "omitempty" not in options
            fields[number] = [json_name, code, *([1] if always and json_name else [])]
            of = code.lstrip("[{")
            if of in structs:
                waiting.append(of)
        table[name] = fields
    lines = [f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table)]
    print('{"kinds": ' + json.dumps(kinds) + ',\n"types": {\n' + ",\n".join(lines) + "\n}}")


def _code(go: str, package: str, structs: dict[str, tuple[str, str]], aliases: dict[str, tuple[str, str]]) -> str:
    """Return the code of a Go type: `[T` for a list, `{T` for a map from strings, else a name."""
    go = go.removeprefix("*")
    if go in SPECIAL:
        return SPECIAL[go]
    if go.startswith("[]"):
        return "[" + _code(go[2:], package, structs, aliases)
    if go.startswith("map["):
        return "{" + _code(go.partition("]")[2], package, structs, aliases)
    own, _, name = go.rpartition(".")
    if not own and package == "meta.v1" and f"metav1.{name}" in SPECIAL:
        return SPECIAL[f"metav1.{name}"]
    full = (PACKAGES.get(own) or IMPORT.sub(r"\1.\2", own) or package) + f".{name}"
    if full in structs:
        return full
    if full in aliases:
        return _code(aliases[full][1], aliases[full][0], structs, aliases)
    if own == "types":
        return "string"  # UID, NodeName
    raise SystemExit(f"{package}: the type {go} is not known")


if __name__ == "__main__":
    main(*sys.argv[1:])
