"""Hostile and broken uploads, each as (name, files, expected text). Tests use them in and out of process.

`python -m tests.kubesched_ui.ingest.hostile NAME` reads one with a small memory limit and prints the answer.
"""

import gzip
import io
import resource
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable

from kubesched_ui.ingest import IngestError, Limits, ingest_files

MB = 1024 * 1024
LIMITS = Limits(max_bytes=64 * MB, max_text=64 * MB, max_members=20_000)
MEMORY = 700 * MB  # address space of the process that reads the worst uploads

NODE = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}'
POD = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":%s}'


def listed(*items: bytes) -> bytes:
    return b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(items) + b"]}"


def pod(spec: bytes) -> bytes:
    return listed(NODE, POD % spec)


def zipped(*members: tuple[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def tarred(*members: tuple[str, bytes | str], mode: str = "w:gz", kind: bytes = tarfile.REGTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info, data = tarfile.TarInfo(name), content.encode() if isinstance(content, str) else content
            info.type = kind
            info.size = len(data)
            info.linkname = "/etc/passwd"
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def gz_in_gz(levels: int) -> bytes:
    data = NODE
    for _ in range(levels):
        data = gzip.compress(data)
    return data


def zip_in_zip() -> bytes:
    data = NODE
    for name in ("a.json", "b.zip", "c.zip", "d.zip", "e.zip", "f.zip", "g.zip"):
        data = zipped((name, data))
    return data


def zeros_gz(megabytes: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="w") as file:
        for _ in range(megabytes):
            file.write(bytes(MB))
    return out.getvalue()


def encrypted_zip() -> bytes:
    data = bytearray(zipped(("a.json", NODE)))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.index(signature) + offset
        data[at] |= 1
    return bytes(data)


def lying_zip() -> bytes:
    """Return an archive whose member claims to hold one byte."""
    data = bytearray(zipped(("a.json", b" " * (80 * MB) + NODE)))
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 1)
    return bytes(data)


def laughs(levels: int) -> bytes:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines).encode()


def merges(levels: int) -> bytes:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines).encode()


# Name -> file, its content (or a function that creates a large one), expected text of the answer.
REFUSED: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    # nesting
    "json 100,000 open brackets": ("a.json", lambda: b"[" * 100_000, "nested too deeply"),
    "json 100,000 brackets closed": ("a.json", lambda: b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "json 100,000 open braces": ("a.json", lambda: b'{"a":' * 100_000, "nested too deeply"),
    "yaml 100,000 open brackets": ("a.yaml", lambda: b"a: " + b"[" * 100_000, "64 levels deep"),
    "yaml 100,000 open braces": ("a.yaml", lambda: b"a: " + b"{a: " * 100_000, "64 levels deep"),
    "yaml 100,000 dashes": ("a.yaml", lambda: b"- " * 100_000, "64 levels deep"),
    "yaml 100,000 question marks": ("a.yaml", lambda: b"? " * 100_000, "a.yaml, document 1: line 1"),
    "yaml deep by indentation": (
        "a.yaml",
        lambda: "\n".join(" " * i + "a:" for i in range(3000)).encode(),
        "64 levels deep",
    ),
    "yaml brackets without a name": ("upload", lambda: b"[" * 100_000, "deep"),
    "json lists in lists": (
        "a.json",
        lambda: b'{"kind":"List","items":[' * 20 + NODE + b"]}" * 20,
        "Lists are nested more than 3 deep",
    ),
    "json 90 levels in a pod": (
        "a.json",
        lambda: POD % (b'{"x":' * 90 + b"1" + b"}" * 90),
        "nested more than 64 levels deep",
    ),
    # aliases
    "yaml billion laughs": ("a.yaml", lambda: laughs(12), "aliases expand to more than 1,000,000 characters"),
    "yaml billion laughs in a list": (
        "a.yaml",
        lambda: b"kind: List\nitems:\n- metadata:\n    " + laughs(12).replace(b"\n", b"\n    "),
        "aliases expand",
    ),
    "yaml large scalar repeated": (
        "a.yaml",
        lambda: b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a, " * 5000 + b"]",
        "aliases expand",
    ),
    "yaml merge bomb": ("a.yaml", lambda: merges(12), "aliases expand"),
    "yaml alias to itself": ("a.yaml", b"a: &a [*a]", "refers to no complete anchor before it"),
    "yaml alias to nothing": ("a.yaml", b"a: *b", "refers to no complete anchor"),
    "yaml alias to another document": ("a.yaml", b"a: &a 1\n---\nb: *a", "document 2: line 3: the alias *a"),
    # keys, tags, numbers
    "yaml key twice": ("a.yaml", b"kind: Pod\nkind: Node", 'the key "kind" occurs twice'),
    "yaml list as key": ("a.yaml", b"? [a]\n: b", "used as a key"),
    "yaml null as key": ("a.yaml", b"~: b", "key of a map is empty"),
    "yaml python object": ("a.yaml", b"a: !!python/object/apply:os.system ['true']", "is not supported"),
    "yaml own tag": ("a.yaml", b"a: !Ref b", "the tag !Ref is not supported"),
    "yaml binary": ("a.yaml", b"a: !!binary aGk=", "is not supported"),
    "yaml not a number": ("a.yaml", b"a: .nan", "the number .nan is not allowed"),
    "yaml infinity": ("a.yaml", b"a: -.inf", "the number -.inf is not allowed"),
    "yaml number without end": ("a.yaml", lambda: b"a: " + b"9" * 5000, "is too large"),
    "yaml hexadecimal without end": ("a.yaml", lambda: b"a: 0x" + b"f" * 100_000, "is too large"),
    "yaml tabs": ("a.yaml", b"a:\n\tb: c", "not valid YAML in line 2"),
    "yaml unclosed quote": ("a.yaml", b'kind: "Pod', "not valid YAML"),
    "yaml version 9": ("a.yaml", b"%YAML 9.9\n---\na: b", "not valid YAML"),
    "yaml escape": ("a.yaml", b'a: "\\ud800"', "not valid YAML"),
    "null key twice": ("a.json", b'{"kind":"Pod","metadata":{"name":"a","uid":null,"uid":"b"}}', '"uid" occurs twice'),
    "json key twice": ("a.json", b'{"kind":"Pod","metadata":{"name":"a","name":"b"}}', '"name" occurs twice'),
    "json not a number": ("a.json", b'{"kind":"Pod","a":NaN}', "not valid JSON in line 1"),
    "json infinity": ("a.json", b'{"kind":"Node","metadata":{"name":"n"},"a":1e999}', "1e999 is too large"),
    "json number without end": (
        "a.json",
        lambda: b'{"kind":"Node","metadata":{"name":"n"},"a":' + b"9" * 50_000 + b"}",
        "is too large",
    ),
    "json half a surrogate": (
        "a.json",
        b'{"kind":"Node","metadata":{"name":"n","labels":{"a":"\\ud800"}}}',
        "an unpaired surrogate",
    ),
    "json cut off": ("a.json", b'{"kind":"List","items":[{"kind":"Po', "ends in the middle"),
    "json comma": ("a.json", b'{\n"kind":"List",\n}', "not valid JSON in line 3"),
    # encodings
    "nul bytes": ("a.yaml", b"kind: Pod\nname: a\0b", "NUL byte in line 2"),
    "nul bytes in json": ("a.json", b'{"kind":"Pod\0"}', "NUL byte in line 1"),
    "nothing but nul": ("a.json", lambda: bytes(MB), "a.json"),
    "latin-1": ("a.yaml", "kind: Pod\nname: Müller".encode("latin-1"), "byte 0xfc in line 2"),
    "latin-1 late in a large file": (
        "a.yaml",
        lambda: b"#" * (3 * MB) + b"\n" + "é".encode("latin-1"),
        "byte 0xe9 in line 2",
    ),
    "half a character at the end": ("a.yaml", "kind: é".encode()[:-1], "byte 0xc3 in line 1"),
    "overlong encoding": ("a.yaml", b"a: \xc0\xaf", "byte 0xc0"),
    "utf-16 cut off": ("a.json", b"\xff\xfe{\0a", "looks like UTF-16"),
    "control characters": ("a.yaml", b"a: \x07", "not valid YAML"),
    # no text
    "empty": ("a.json", b"", "is empty"),
    "blanks": ("a.json", b" \n\t ", "is empty"),
    "picture": ("a.json", b"\x89PNG\r\n\x1a\n", "is a PNG picture"),
    "program": ("snapshot", b"\x7fELF\x02\x01\x01", "is a program"),
    "xz": ("a.json.xz", b"\xfd7zXZ\0", "is a damaged xz file"),
    "bzip2": ("a.json.bz2", b"BZh9", "is a damaged bzip2 file"),
    "zstd": ("a.tar.zst", b"\x28\xb5\x2f\xfd", "is a zstd archive, which is not supported; unpack it and create a"),
    "protobuf": ("a", b"k8s\0\n\x0b", "protobuf"),
    # archives
    "1 GB of zeros": ("a.json.gz", lambda: zeros_gz(1024), "times its size"),
    "zeros in a tar.gz": ("a.tar.gz", lambda: gzip.compress(bytes(60 * MB)), "times its size"),
    "zip bomb": ("a.zip", lambda: zipped(("a.json", bytes(60 * MB))), "times its size"),
    "zip of many bombs": (
        "a.zip",
        lambda: zipped(*((f"{i}.json", b" " * (15 * MB)) for i in range(6))),
        "more than 64 MB of text",
    ),
    "zip that lies": ("a.zip", lying_zip, "a.zip"),
    "zip in zip in zip": ("a.zip", zip_in_zip, "nested more than 3 deep"),
    "gz in gz": ("a.gz", lambda: gz_in_gz(40), "nested more than 3 deep"),
    "zip of 30,000 files": ("a.zip", lambda: zipped(*((f"{i}.txt", b"") for i in range(30_000))), "20,000 files"),
    "tar of 30,000 files": (
        "a.tar.gz",
        lambda: tarred(*((f"{i}.txt", b"") for i in range(30_000))),
        "more than 20,000 files",
    ),
    "zip member above": ("a.zip", lambda: zipped(("../../etc/cron.d/x.json", NODE)), "outside the archive"),
    "zip member absolute": ("a.zip", lambda: zipped(("/etc/x.json", NODE)), "outside the archive"),
    "zip member on a drive": ("a.zip", lambda: zipped(("C:\\x.json", NODE)), "outside the archive"),
    "zip member with backslashes": ("a.zip", lambda: zipped(("..\\x.json", NODE)), "outside the archive"),
    "tar member above": ("a.tar", lambda: tarred(("../x.json", NODE), mode="w"), "outside the archive"),
    "tar member absolute": ("a.tar", lambda: tarred(("/x.json", NODE), mode="w"), "outside the archive"),
    "tar of links": ("a.tar", lambda: tarred(("x.json", b""), mode="w", kind=tarfile.SYMTYPE), "no object"),
    "tar of devices": ("a.tar", lambda: tarred(("x.json", b""), mode="w", kind=tarfile.CHRTYPE), "no object"),
    "zip encrypted": ("a.zip", encrypted_zip, "is encrypted"),
    "zip by lzma": ("a.zip", lambda: zipped(("a.json", NODE), method=zipfile.ZIP_LZMA), "unsupported zip method"),
    "zip cut off": ("a.zip", lambda: zipped(("a.json", NODE))[:-10], "damaged zip"),
    "zip damaged": ("a.zip", lambda: zipped(("a.json", NODE)).replace(NODE[:8], b"xxxxxxxx")[:40], "damaged zip"),
    "gz cut off": ("a.gz", lambda: gzip.compress(NODE * 100)[:-12], "damaged gz"),
    "gz damaged": ("a.gz", lambda: gzip.compress(NODE)[:12] + b"\xff" * 20, "damaged gz"),
    "tar cut off": ("a.tar", lambda: tarred(("a.json", NODE * 50), mode="w")[:700], "a.tar"),
    "empty zip": ("a.zip", zipped, "no object"),
    # too large
    "10,001 nodes": (
        "a.json",
        lambda: listed(*(NODE.replace(b"n1", b"n%d" % i) for i in range(10_001))),
        "more than 10,000 nodes",
    ),
    "half a million empty objects": ("a.json", lambda: listed(b"{}," * 500_000 + b"{}"), "more than 500,000 objects"),
    "millions of numbers": ("a.json", lambda: b"[" + b"1," * 10_000_000 + b"1]", "more than 500,000 objects"),
    "yaml of millions of numbers": ("a.yaml", lambda: b"- 1\n" * 3_000_000, "larger than 3,145,728 bytes"),
    "yaml of a million objects": ("a.yaml", lambda: b"- {}\n" * 600_000, "more than 500,000 elements"),
    "one large object": ("a.json", lambda: POD % (b'{"x":"' + b"x" * 4 * MB + b'"}'), "larger than 3,145,728 bytes"),
    "millions of empty lists": (
        "a.json",
        lambda: b'{"kind":"Pod","metadata":{"name":"p"},"spec":[' + b"[]," * 10_000_000 + b"[]]}",
        "larger than 3,145,728 bytes",
    ),
    "millions of keys": (
        "a.json",
        lambda: b"{" + b",".join(b'"k%d":1' % i for i in range(3_000_000)) + b"}",
        "kind: is missing",
    ),
    # no cluster
    "a package.json": ("package.json", b'{"name":"x","version":"1.0.0"}', "kind: is missing"),
    "a number": ("a.json", b"[5]", "expected a Kubernetes object, found 5"),
    "a sentence": ("a.yaml", b"hello world", 'expected a Kubernetes object, found "hello world"'),
    "a table": ("a.txt", b"NAME   READY   STATUS\nweb-1  1/1     Running\n", "is a table printed by kubectl"),
    "kind is a number": ("a.json", b'{"kind":5}', "kind: expected"),
    "items is a text": ("a.json", b'{"kind":"List","items":"x"}', "items: expected a list"),
    "only secrets": ("a.json", b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}}', "contains only Secrets"),
    "a web page": ("a.html", b"<!DOCTYPE html><html><body>404</body></html>", "a.html"),
    "file name": ("<script>\n\x1b[31m.json", b"", "is empty"),
}

# Objects that are left out of an accepted cluster: expected text of the warning.
BROKEN: dict[str, tuple[bytes, str]] = {
    "no name": (b'{"kind":"Pod","metadata":{}}', "metadata.name: is missing"),
    "no metadata": (b'{"kind":"Pod"}', "metadata: is missing"),
    "metadata is a list": (b'{"kind":"Pod","metadata":[]}', "metadata: is not an object"),
    "name is a number": (b'{"kind":"Pod","metadata":{"name":5}}', "metadata.name: expected text"),
    "name is a path": (b'{"kind":"Pod","metadata":{"name":"../../x"}}', "cannot be a name"),
    "name is markup": (b'{"kind":"Pod","metadata":{"name":"</script><script>alert(1)</script>"}}', "cannot be a name"),
    "name with nul": (b'{"kind":"Pod","metadata":{"name":"a\\u0000b"}}', "cannot be a name"),
    "name too long": (b'{"kind":"Pod","metadata":{"name":"' + b"x" * 300 + b'"}}', "cannot be a name"),
    "namespace is a path": (b'{"kind":"Pod","metadata":{"name":"a","namespace":"a/b"}}', "metadata.namespace"),
    "quantity": (
        POD % b'{"containers":[{"resources":{"requests":{"cpu":"a lot"}}}]}',
        "Pod default/p): spec.containers[0].resources.requests['cpu']",
    ),
    "operator": (POD % b'{"tolerations":[{"operator":"<b>"}]}', "spec.tolerations[0].operator"),
    "containers is a text": (POD % b'{"containers":"x"}', "spec.containers: Expected `array`"),
    "spec is a list": (POD % b"[]", "spec"),
    "a text": (b'"x"', "expected a Kubernetes object"),
    "null": (b"null", "expected a Kubernetes object"),
    "label is a number": (b'{"kind":"Node","metadata":{"name":"n","labels":{"a":1}}}', "metadata.labels"),
}


def answer(name: str, memory: int = 0) -> str:
    """Return the answer to an upload of REFUSED, with `memory` bytes of address space if given."""
    file, content, _ = REFUSED[name]
    upload = [(file, content if isinstance(content, bytes) else content())]
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        result = ingest_files(upload, LIMITS)
    except IngestError as error:
        return f"refused: {error}"
    return f"taken: {result.counts}"


if __name__ == "__main__":
    print(answer(sys.argv[1], MEMORY))
