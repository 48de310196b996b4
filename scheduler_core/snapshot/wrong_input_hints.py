"""Detects common files that are not snapshots, and explains what they are and what to use instead.

Only the first bytes of a file are examined. Each phrase completes a sentence that begins with the name of the file.
"""

import re
from collections.abc import Iterable

from scheduler_core.etcd.bbolt import is_database

SNAPSHOT_KINDS = (
    "nodes", "pods", "events", "ns", "svc", "rc", "rs", "sts", "pv", "pvc", "sc",
    "csinodes", "csidrivers", "csistoragecapacities", "pdb", "pc",
)  # fmt: skip
"""Objects that the scheduler reads, and events with its messages, by the names that kubectl uses."""
KUBECTL = f"kubectl get {','.join(SNAPSHOT_KINDS)} -A -o json > cluster.json"
MAX_EXAMINED = 100_000  # bytes that are examined

_USE = f"; use the output of `{KUBECTL}`"
_EXPLAIN = "; `kubesched why-message`, or *Paste a message* on the home page, explains its messages of FailedScheduling"
LINES = "is a JSON Lines export, which contains no cluster; export the run as a run file instead"
_RECORDING = "`python -m scheduler_core scenario`, or an upload, makes a scenario of its changes"
SIMKUBE = f"is a SimKube trace, which is not a cluster{_USE}; {_RECORDING}"
TEMPLATE = "is a template without values; use the output of `helm template RELEASE CHART`"
HELM_CHART = "is a part of a Helm chart; use the output of `helm template RELEASE CHART`"
KUBECONFIG = "is a kubeconfig: it contains credentials, do not upload it"
_SHADOW = "`python -m scheduler_core shadow` checks the decisions that it holds"
AUDIT_LOG = f"is an audit log of the API server, which is not a cluster{_USE}; {_SHADOW}, {_RECORDING}"
JSON_LOG = f"is a log, which is not a cluster{_USE}"
EVENTS_ONLY = f"contains only events: pods and nodes are missing{_USE}{_EXPLAIN}"
BIG_ENDIAN = f"is a database of etcd that a big-endian machine wrote, which is not supported{_USE}"
COMPOSE = "is a file of Compose; use manifests of Kubernetes, as `kompose convert` writes them"
CREDENTIAL = "is a key, a certificate or a token: do not upload it"

# ---- binary files

_MESSAGE = re.compile(rb"\s*0/\d+ nodes are available\b")
_ARCHIVE = "which is not supported; unpack it and create a .tar.gz, .tar.xz, .tar.bz2 or .zip file"
_BINARY = {
    b"\x28\xb5\x2f\xfd": f"is a zstd archive, {_ARCHIVE}",
    b"7z\xbc\xaf": f"is a 7z archive, {_ARCHIVE}",
    b"Rar!": f"is a rar archive, {_ARCHIVE}",
    b"\x04\x22\x4d\x18": f"is an lz4 archive, {_ARCHIVE}",
    b"\x1f\x9d": f"is a compress archive, {_ARCHIVE}",
    b"LZIP": f"is an lzip archive, {_ARCHIVE}",
    b"!<arch>": f"is an ar archive, {_ARCHIVE}",
    b"\xed\xab\xee\xdb": f"is an rpm package, {_ARCHIVE}",
    b"\xff\x06\0\0sNaPpY": f"is a snappy archive, {_ARCHIVE}",
    b"SQLite format 3": f"is a database of SQLite, in which k3s stores a cluster, which is not supported{_USE}",
    b"k8s\0": f"is a Kubernetes object in protobuf encoding, as in etcd, which is not supported{_USE}",
    b"\xd9\xd9\xf7": f"is in CBOR encoding, which is not supported{_USE}",
    b"\xd4\xc3\xb2\xa1": f"is a capture of network packets{_USE}",
    b"\xa1\xb2\xc3\xd4": f"is a capture of network packets{_USE}",
    b"\x4d\x3c\xb2\xa1": f"is a capture of network packets{_USE}",
    b"\x0a\x0d\x0d\x0a": f"is a capture of network packets{_USE}",
    b"LPKSHHRH": f"is a journal of systemd{_USE}",
    b"PAR1": f"is a Parquet file, which contains no cluster{_USE}",
    b"Obj\x01": f"is an Avro file, which contains no cluster{_USE}",
    b"ORC": f"is an ORC file, which contains no cluster{_USE}",
    b"ARROW1": f"is an Arrow file, which contains no cluster{_USE}",
    b"\x89HDF": f"is an HDF5 file, which contains no cluster{_USE}",
    b"\x93NUMPY": f"is a NumPy array, which contains no cluster{_USE}",
    b"\xd0\xcf\x11\xe0": f"is an Office document, which is not supported{_USE}",
    b"{\\rtf": f"is an RTF document, which is not supported{_USE}",
    b"%PDF": f"is a PDF document, which is not supported{_USE}",
    b"%!PS": f"is a PostScript document, which is not supported{_USE}",
    b"\x89PNG": f"is a PNG picture, which is not supported{_USE}",
    b"\xff\xd8\xff": f"is a JPEG picture, which is not supported{_USE}",
    b"GIF8": f"is a GIF picture, which is not supported{_USE}",
    b"RIFF": f"is a picture, a sound or a video, which is not supported{_USE}",
    b"\x7fELF": f"is a program, which is not supported{_USE}",
    b"MZ": f"is a program, which is not supported{_USE}",
    b"\xcf\xfa\xed\xfe": f"is a program, which is not supported{_USE}",
    b"\xca\xfe\xba\xbe": f"is a program, which is not supported{_USE}",
    b"\0asm": f"is a program, which is not supported{_USE}",
}
"""First bytes of a file -> what it is. Those of text (such as ORC) are confirmed by a byte that text does not have."""
_TEXT_MAGIC = (b"ORC", b"MZ", b"LZIP", b"RIFF", b"PAR1", b"Rar!", b"GIF8", b"ARROW1", b"\x0a\x0d")
_NOT_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")

# ---- texts

_COLUMNS = re.compile(rb" {2,}|\t+")
_COLUMN = re.compile(rb"[A-Z][A-Z-]*(?:\([a-z]+\))?%?(?: [A-Z-]+)*\s*")
_DESCRIBED = re.compile(rb"\s*Name:[ \t]+\S+\s*\n(?:\S[^\n]*\n)*?(?:Namespace|Labels|Roles|Priority|Annotations):")
_NAMES = re.compile(rb"\s*(?:[a-z]+(?:\.[a-z0-9.-]+)?/[a-z0-9][a-z0-9.-]*\s*(?:\n|\Z))+\Z")
_ERROR = re.compile(rb"\s*(?:error: |Error from server|Unable to connect to the server|The connection to the server)")
_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.I)
_XML = re.compile(rb"\s*<\?xml\s")
_TRACE = re.compile(rb"\"?(?:applied_objs|trackedObjects)\"?\s*:")
_TEMPLATE = re.compile(rb"\{\{-?\s*(?:\.|/\*|\$|include|if|else|end|range|with|define|template|toYaml|printf|quote)")
_TEMPLATE_LINE = re.compile(rb"^[ \t]*\{\{-?\s*(?:if|end|range|with|include|define|template|toYaml|/\*)", re.M)
_FENCE = re.compile(rb"^ {0,3}```", re.M)
_LINES = re.compile(rb"\s*\{\"run\":\d+,\"kubernetes\":")
_SCRIPT = re.compile(rb"#!\s*/")
_DIFF = re.compile(rb"(?:diff (?:--git|-u|-N) |Index: |--- [^\n]+\n\+\+\+ )")
_CSV = re.compile(rb"(?:(?:[^,\n{}\[\]:]*,){2,}[^,\n{}\[\]:]*\n){2}")

# At the top of a file; a ConfigMap can contain a kubeconfig as text. Fields of JSON have no line of their own.
_KUBECONFIG = re.compile(rb"^(current-context|contexts|users|clusters):", re.M)
_KUBECONFIG_KIND = re.compile(rb"^kind: *[\"']?Config[\"']?[ \t]*\r?$", re.M)
_KUBECONFIG_JSON = re.compile(
    rb"\s*\{[^{}\[\]]{0,1000}\"kind\"\s*:\s*\"Config\"|\s*\{\s*\"(?:current-context|clusters|contexts)\""
)
_CREDENTIALS = re.compile(rb"(?:client-key|client-certificate|certificate-authority)(?:-data)?[\"']?[ \t]*:")
_PEM = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]+-----")
_JWT = re.compile(rb"\s*eyJ[\w-]{10,}\.eyJ[\w-]+\.[\w-]+\s*\Z")

# What `kubectl logs`, container runtimes and journald write before the line of a component.
_BEFORE_KLOG = (
    rb"(?:\[[^\]\n]{1,200}\] )?"
    rb"(?:\d{4}-\d\d-\d\dT\S{1,40} (?:std(?:out|err) [FP] )?)?"
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,200} \S{1,200}: )?"
)
_KLOG_FORM = rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w./-]+:\d+\] "
_KLOG = re.compile(_BEFORE_KLOG + _KLOG_FORM)
_KLOG_LINE = re.compile(rb"^" + _BEFORE_KLOG + _KLOG_FORM, re.M)
_OF_SCHEDULER = re.compile(rb"(?:schedule_one|scheduling_queue|scheduler|default_binder|eventhandlers)\.go:\d+\]")
_OBJECT_LINE = re.compile(rb"^(?:[{\[]|kind:|apiVersion:|items:|---)", re.M)
_OTHER_LOG = re.compile(
    rb"\s*(?:time=\"?\d{4}-[^\n]* level=\w+ "
    rb"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d\S*\s+"
    rb"(?:\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|std(?:out|err) [FP] |\S+\.go:\d+)"
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: )"
)
# The first object of a log in JSON lines; an object of Kubernetes has none of these at the top.
_LOG_OBJECT = re.compile(rb"\s*\{[^{}\n]{0,2000}?\"(?:msg|message|log)\"\s*:\s*\"")
_LOG_STAMP = re.compile(rb"\"(?:ts|time|timestamp|@timestamp|level|severity|caller|stream|v)\"\s*:")
_AUDIT = re.compile(rb"\"?apiVersion\"?\s*:\s*\"?audit\.k8s\.io/")
_METRIC = rb"[a-zA-Z_:][\w:]*(?:\{[^\n]*\})? (?:[-+]?(?:\d[\d.eE+-]*|Inf)|NaN)(?: \d+)?\r?(?:\n|\Z)"
_METRICS = re.compile(rb"\s*(?:# (?:HELP|TYPE|UNIT) [a-zA-Z_:][\w:]* [^\n]*\n|" + _METRIC + rb"){2,}")
_ONE_METRIC = re.compile(rb"\s*[a-z]\w*_\w+(?:\{[^\n]*\})? [-+]?\d[\d.eE+-]*\s*\Z")
_ZPAGE = re.compile(rb"\s*([\w-]+) (flagz|statusz)\r?\n")
_ETCD_KEYS = re.compile(rb"\s*/registry/[^\n]+\n")
_OPENAPI = re.compile(rb"\s*(?:\{\s*)?\"?(?:swagger|openapi)\"?\s*:\s*[\"']?\d")
_COMPOSE = re.compile(
    rb"\s*(?:(?:#|version:|name:)[^\n]*\n)*services:[ \t]*\r?\n[ \t]+[\w.-]+:[ \t]*\r?\n[ \t]+(?:image|build|command)"
)
_MARKS = {
    rb"\s*\{\s*\"header\"\s*:\s*\{\s*\"(?:cluster|member)_id\"": f"is an answer of etcd, not a cluster{_USE}",
    rb"\s*\{\s*\"status\"\s*:\s*\"(?:success|error)\"\s*,\s*\"data\"": (
        f"is an answer of Prometheus, not a cluster{_USE}"
    ),
    rb"\s*(?:\x1b\[[\d;]*m)*Kubernetes (?:control plane|master)(?:\x1b\[[\d;]*m)* is running at": (
        f"is the output of `kubectl cluster-info`; use that of `kubectl cluster-info dump -A`, or of `{KUBECTL}`"
    ),
    rb"\s*Client [Vv]ersion:": f"is the output of `kubectl version`, not a cluster{_USE}",
    rb"\s*(?:GROUP:[^\n]*\n)?KIND: +\w+\nVERSION:": f"is the output of `kubectl explain`, not a cluster{_USE}",
    rb"\s*NAME: [^\n]+\nLAST DEPLOYED:": "is the output of `helm status`; use that of `helm get manifest RELEASE`",
    rb"\s*(?:USER-SUPPLIED|COMPUTED) VALUES:": "is the output of `helm get values`; use `helm get manifest RELEASE`",
    rb"\s*\{\s*\"version\"\s*:\s*\d+,\s*\"terraform_version\"": f"is a state of Terraform, not a cluster{_USE}",
    rb"\s*\{\s*\"\$schema\"\s*:": f"is a JSON schema or a document with one, not a cluster{_USE}",
}
_MARKED = [(re.compile(pattern), phrase) for pattern, phrase in _MARKS.items()]
MSGPACK = tuple(bytes([byte]) for byte in (*range(0x80, 0x90), 0xDE))  # first bytes of MessagePack maps

_CHART_FIELDS = ({"apiVersion", "name", "version"}, {"replicaCount"}, {"image", "service"}, {"nameOverride"})
# Kinds that a file alone may contain, as `Kind.group`.
_KINDS = {
    "Flagz.config.k8s.io": f"is the page /flagz of a component, not a cluster{_USE}",
    "Statusz.config.k8s.io": f"is the page /statusz of a component, not a cluster{_USE}",
    "Event.audit.k8s.io": AUDIT_LOG,
    "Policy.audit.k8s.io": f"is the audit policy of an API server, not a cluster{_USE}",
    "Config": KUBECONFIG,
    "Status": f"is an error message of the API server, not a cluster{_USE}",
    "Table.meta.k8s.io": f"is a table for printing, which is incomplete{_USE}",
    "APIResourceList": f"is a list of the kinds that an API server serves, not a cluster{_USE}",
    "APIGroupList": f"is a list of the groups that an API server serves, not a cluster{_USE}",
    "APIVersions": f"is a list of the versions that an API server serves, not a cluster{_USE}",
    "NodeMetrics.metrics.k8s.io": f"is the current usage of nodes, not a cluster{_USE}",
    "PodMetrics.metrics.k8s.io": f"is the current usage of pods, not a cluster{_USE}",
    "AdmissionReview.admission.k8s.io": f"is a request to an admission webhook, not a cluster{_USE}",
    "Kustomization.kustomize.config.k8s.io": "is a kustomization; use the output of `kubectl kustomize FOLDER`",
    "CustomResourceDefinition.apiextensions.k8s.io": f"defines kinds, and contains no object of a cluster{_USE}",
    "KubeletConfiguration.kubelet.config.k8s.io": f"configures a kubelet, and is not a cluster{_USE}",
    "ClusterConfiguration.kubeadm.k8s.io": f"configures kubeadm, and is not a cluster{_USE}",
    "Cluster.kind.x-k8s.io": f"configures kind, and is not a cluster{_USE}",
    "Backup.velero.io": "describes a backup; use the archive that `velero backup download NAME` writes",
    "Secret": "contains only Secrets: do not upload them",
    "ConfigMap": f"contains only ConfigMaps without a scheduler configuration{_USE}",
}


def binary_input_hint(head: bytes) -> str:
    """Return what a file is if its first bytes are not text; "" if they may be. `head`: at least 64 bytes, if any."""
    if is_database(head) or is_trace(head):
        return ""  # it is no text either, but it is read
    if is_database(head, big_endian=True):
        return BIG_ENDIAN
    for magic, what in _BINARY.items():
        if head.startswith(magic) and (not magic.startswith(_TEXT_MAGIC) or _NOT_TEXT.search(head[:MAX_EXAMINED])):
            return what
    return ""


def wrong_input_hint(text: bytes) -> str:
    """Return a phrase that explains what `text` is and what to use instead; "" if it may be a snapshot."""
    head = text[:MAX_EXAMINED]
    if is_trace(head):
        return SIMKUBE
    if _ERROR.match(head):
        return f"is an error message of kubectl: {head[:200].decode(errors='replace').strip()}"
    if _PAGE.match(head):
        return f"is a web page{_USE}"
    if _DESCRIBED.match(head):
        return f"is the output of `kubectl describe`, which is incomplete{_USE}{_explain(head)}"
    if _is_table(head):
        return f"is a table printed by kubectl; use `-o json`: `{KUBECTL}`{_explain(head)}"
    if _MESSAGE.match(head):
        return f"is a message of FailedScheduling, not a cluster{_USE}{_EXPLAIN}"
    if _NAMES.match(head):
        return f"is a list of names; use `-o json` instead of `-o name`: `{KUBECTL}`"
    if _TRACE.search(head) and head.lstrip()[:1] in (b"{", b"v", b"c"):
        return SIMKUBE
    if _LINES.match(head):
        return LINES
    if _TEMPLATE_LINE.search(head):
        return TEMPLATE
    if _is_kubeconfig(head):
        return KUBECONFIG
    if _PEM.match(head) or _JWT.match(head):
        return CREDENTIAL
    return _log_hint(head) or _other_hint(head)


def _explain(head: bytes) -> str:
    return _EXPLAIN if _MESSAGE.search(head) else ""


def _log_hint(head: bytes) -> str:
    first = head.lstrip()[:4_000].partition(b"\n")[0]
    if _KLOG.match(head.lstrip()) and not _OBJECT_LINE.search(head):
        return _klog_hint(head)
    if first.startswith(b"{"):
        if _AUDIT.search(first):
            return AUDIT_LOG
        if _LOG_OBJECT.match(first) and _LOG_STAMP.search(first) and b'"kind"' not in first.partition(b'"msg"')[0]:
            return _klog_hint(head) if b"schedule_one.go" in head else JSON_LOG
    return JSON_LOG if _OTHER_LOG.match(head) else ""


def _klog_hint(head: bytes) -> str:
    """Return the phrase for a log of a component of Kubernetes."""
    what = "kube-scheduler" if _OF_SCHEDULER.search(head) or b"schedule_one.go" in head else "a component of Kubernetes"
    return f"is a log of {what}, which is not a cluster{_USE}"


def _other_hint(head: bytes) -> str:
    if page := _ZPAGE.match(head):
        return f"is the page /{page[2].decode()} of {page[1].decode()}, not a cluster{_USE}"
    if _METRICS.match(head) or _ONE_METRIC.match(head):
        return f"is a page of metrics, not a cluster{_USE}"
    if _ETCD_KEYS.match(head):
        return f"is a list of keys of etcd, which is incomplete{_USE}"
    if _OPENAPI.match(head):
        return f"is an OpenAPI description, not a cluster{_USE}"
    if _XML.match(head):
        return f"is XML, which is not supported{_USE}"
    if _SCRIPT.match(head):
        return f"is a script, not a cluster{_USE}"
    if _COMPOSE.match(head):
        return COMPOSE
    if _CSV.match(head):
        return f"is a table of values separated by commas, not a cluster{_USE}"
    if _DIFF.match(head):
        return f"is a difference of two files, not a cluster{_USE}"
    return next((phrase for pattern, phrase in _MARKED if pattern.match(head)), "")


def _is_kubeconfig(head: bytes) -> bool:
    """Return whether a file is a kubeconfig: of kind Config, or with credentials. A kubeconfig needs no kind."""
    if head.lstrip()[:1] == b"{":
        return _KUBECONFIG_JSON.match(head) is not None
    fields = set(_KUBECONFIG.findall(head))
    return len(fields) > 1 and bool(_KUBECONFIG_KIND.search(head) or _CREDENTIALS.search(head))


def _is_table(head: bytes) -> bool:
    """Return whether the first line is a table heading of kubectl: `NAME   STATUS   ROLES`."""
    columns = _COLUMNS.split(head.lstrip()[:1000].partition(b"\n")[0].strip())
    return len(columns) > 1 and all(_COLUMN.fullmatch(column) for column in columns)


def unreadable_input_hint(text: bytes) -> str:
    """Return such a phrase for a text that could not be parsed. These patterns may also occur in a readable text."""
    head = text[:MAX_EXAMINED]
    if _TEMPLATE.search(head):
        return TEMPLATE
    if _KLOG_LINE.search(head):
        return _klog_hint(head)
    if _FENCE.search(head):
        return "is Markdown; use only the text between two lines that begin with ```, as YAML or JSON"
    if _KUBECONFIG.search(head):
        return KUBECONFIG
    return ""


def useless_input_hint(kinds: Iterable[str] = (), fields: Iterable[str] = ()) -> str:
    """Return such a phrase for a readable file without an object that the scheduler uses; "" if none fits.

    `kinds`: those of its objects, each as `Kind.group` or `Kind`. `fields`: those of a document without a kind.
    """
    found, names = set(kinds), set(fields)
    if found and found <= {"Event", "Event.events.k8s.io"}:
        return EVENTS_ONLY
    if len(found) == 1:
        return _KINDS.get(found.pop(), "")
    if any(of_chart <= names for of_chart in _CHART_FIELDS):
        return HELM_CHART
    return ""


def is_trace(head: bytes) -> bool:
    """Return whether a file starts like a trace of SimKube: a map in MessagePack."""
    return head.startswith(MSGPACK) and b"trackedObjects" in head
