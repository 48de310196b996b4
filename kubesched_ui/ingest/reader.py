"""Converts uploaded files to objects. `ingest_files` is the entry point; the steps follow from top to bottom."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kubesched_ui.ingest import events, preflight, scenario_time
from kubesched_ui.ingest.api_versions import external, is_internal, normalise
from kubesched_ui.ingest.archives import DAMAGED, HEAD, Archives
from kubesched_ui.ingest.documents import documents
from kubesched_ui.ingest.encoding import to_utf8
from kubesched_ui.ingest.errors import IngestError, LimitError, NoObjectError, Warn, Where, printable, shown
from kubesched_ui.ingest.fast_skip import can_skip
from kubesched_ui.ingest.formats import (
    NO_HINT,
    ClusterInfo,
    Config,
    Hint,
    KnownObject,
    Part,
    Time,
    UploadedObject,
    each,
    is_list_of_objects,
    objects,
)
from kubesched_ui.ingest.json_values import Json, read_object
from kubesched_ui.ingest.kinds import PRIVATE, Kind, lookup, neighbour
from kubesched_ui.ingest.limits import Budget, Limits, Watch
from kubesched_ui.ingest.long_lists import LongList, NotInParts
from kubesched_ui.ingest.pod_templates import KnownPod, PodTemplates
from kubesched_ui.ingest.redact import clean, may_need_cleaning, redact
from kubesched_ui.ingest.result import IngestResult, ObjectRecord, Record
from kubesched_ui.ingest.run_file import ALONE, RunFile
from kubesched_ui.ingest.scheduler_configs import Configs, may_hold
from kubesched_ui.ingest.values import as_text, member
from kubesched_ui.ingest.warnings import UNKNOWN_FIELD, UnknownFields, Warnings
from scheduler_core.api import objects as core
from scheduler_core.config.document import read_documents
from scheduler_core.controllers import pod_template
from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import is_database
from scheduler_core.etcd.objects import objects as etcd_objects
from scheduler_core.evidence import log_findings, recorded_decisions, scheduler_log
from scheduler_core.evidence.recorded_decisions import MAX_CHANGES, Finding
from scheduler_core.evidence.recorded_scenario import is_json_trace, is_kwok_recording, scenario_of
from scheduler_core.garbage_collection import without_collecting
from scheduler_core.live.kinds import recorded_kind
from scheduler_core.live.recorded_audit_log import is_audit_log
from scheduler_core.live.recorded_folder import object_of
from scheduler_core.releases.remarks import is_newer
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.described import described, has_described_node, is_described_pod
from scheduler_core.snapshot.generated_names import NAMED, GeneratedNames, generate_name
from scheduler_core.snapshot.wrong_input_hints import (
    KUBECONFIG,
    MAX_EXAMINED,
    SIMKUBE,
    is_trace,
    unreadable_input_hint,
    useless_input_hint,
    wrong_input_hint,
)
from scheduler_core.stations.extra_kinds import read_fields

Source = bytes | Path
SMALL = 1_000_000  # bytes of an object without a kind whose fields are examined
MAX_NAME = 253  # maximum number of characters of a name or namespace in Kubernetes


def ingest_files(
    files: Iterable[tuple[str, Source]],
    limits: Limits | None = None,
    watch: Watch | None = None,
    history: bool = False,
) -> IngestResult:
    """Read an upload: files or archives in any format of docs/formats.md, which together are one cluster.

    Objects that the scheduler core rejects are left out with a warning. Raises IngestError for an unreadable text or
    archive, an exceeded limit, or an upload without objects. `watch` receives the progress.
    `history`: whether a database of etcd becomes its changes as a Scenario in virtual time, not its newest state.
    """
    files = list(files)
    with without_collecting():
        try:
            return _read(files, _Reading(limits or Limits(), watch, history, in_parts=True))
        except NotInParts:
            return _read(files, _Reading(limits or Limits(), watch, history))


def _read(files: Iterable[tuple[str, Source]], reading: "_Reading") -> IngestResult:
    for name, source in files:
        reading.file(name, source)
    return reading.finish()


class _Reading:
    def __init__(self, limits: Limits, watch: Watch | None, history: bool, in_parts: bool = False) -> None:
        """`in_parts`: whether long Lists are read in parts, which may raise NotInParts."""
        self.history = history
        self.limits = limits
        self.budget = Budget(limits, watch)
        self.archives = Archives(self.budget, self._skip, self._unreadable, in_parts)
        self.result = IngestResult()
        self.warnings = Warnings(limits.max_warnings)
        self.skipped: Counter[str] = Counter()  # number of skipped archive members, by archive
        self.without_objects: dict[str, set[str]] = {}  # archive -> members with values that are no Kubernetes objects
        self.kubelets: Counter[str] = Counter()
        self.files: list[str] = []
        self.text = b""  # of the current file
        self.written = False  # written as a Scenario document, not printed by kubectl
        self.configs = Configs(limits.max_depth)
        self.admission = True  # unless a Scenario document disables admission
        self.templates = PodTemplates(limits.max_object_bytes)
        self.misspelt = UnknownFields()
        self.counted: set[int] = set()  # objects of kinds that are not stored
        self.names = GeneratedNames()
        self.recordings: list[tuple[Where, dict[str, Any]]] = []  # recorded changes, each as a Scenario document
        self.logs: list[tuple[IngestError, bytes]] = []  # of kube-scheduler, which are no cluster
        self.recorded: tuple[Where, bytes] | None = None  # the last database of etcd or audit log
        self.described: list[tuple[Where, bytes]] = []  # texts of `kubectl describe`
        self.events = events.EventChoice()

    # ---- files

    def file(self, name: str, source: Source) -> None:
        self.files.append(name)
        for place, data in self.archives.texts(Where(name), source):
            if isinstance(data, LongList):
                self._long_list(place, data)
                continue
            try:
                self._text(place, data, member=place.file.startswith(f"{name}/"))
            except LimitError:
                raise
            except IngestError as error:
                if (what := unreadable_input_hint(data)) and what != error.problem:
                    error = IngestError(place, f"{what} ({error.problem})")
                if place.file.startswith(f"{name}/"):  # one bad file does not refuse a whole dump
                    self._unreadable(error)
                else:
                    raise error from None
        self.text = b""

    def _skip(self, where: Where) -> None:
        self.skipped[where.file.partition("/")[0]] += 1

    def _no_object(self, error: NoObjectError) -> None:
        """Count a member of an archive that is about something else; warn about any other file."""
        if self.member:
            self.without_objects.setdefault(error.where.file.partition("/")[0], set()).add(error.where.file)
        else:
            self.warnings.add("broken", error)

    def _unreadable(self, error: IngestError) -> None:
        self.warnings.add("unreadable-member", error)

    def _text(self, where: Where, data: bytes, member: bool) -> None:
        if is_database(data[:HEAD]):
            if self.history and not member:
                self._recording(where, data)
            else:
                self._database(where, data)
            return
        if is_trace(data[:MAX_EXAMINED]):
            if member:
                raise IngestError(where, SIMKUBE)
            self._recording(where, data)
            return
        # of an audit log, each line is checked
        text = data.removeprefix(BOM_UTF8) if is_audit_log(data) else to_utf8(data, where)
        if not member and (is_audit_log(text) or is_kwok_recording(text) or is_json_trace(text)):
            self._recording(where, text)
            return
        if member and can_skip(text, self._count):
            return
        if has_described_node(text) or (is_described_pod(text) and (self.described or self._has_nodes())):
            self.described.append((where, text))
            return
        if what := wrong_input_hint(text):
            if not member and b".go:" in text[:MAX_EXAMINED] and scheduler_log.is_scheduler_log(text):
                self.logs.append((IngestError(where, what), text))
                return
            raise IngestError(where, what)
        self.text = text
        hint = Hint.from_path(where.file)
        self.member = member
        for number, document in documents(text, where, self.limits, self.result.dropped):
            for found in objects(document, where.at(document=number), self.limits, hint, known=self._known):
                self._found(found)

    def _long_list(self, where: Where, data: LongList) -> None:
        """Read the objects of a long List. Raises NotInParts for all that needs the whole text."""
        head = data.head
        if is_audit_log(head) or is_json_trace(head) or wrong_input_hint(head):
            raise NotInParts
        self.member, place = False, where.at(document=1)
        try:
            for found in each(data.elements(), place, self.limits, NO_HINT, 0, self._known):
                if not isinstance(found, KnownObject) and not (isinstance(found, UploadedObject) and found.kind):
                    raise NotInParts  # what it is depends on the List
                self._found(found)
            if not is_list_of_objects(data.outline, place):
                raise NotInParts
        except (IngestError, *DAMAGED):
            raise NotInParts from None

    def _recording(self, where: Where, data: bytes) -> None:
        """Keep recorded changes as a Scenario until all files are read."""
        notes: list[str] = []
        try:
            document = scenario_of(data, where.file, notes)
        except InputError as error:
            raise IngestError(where, ": ".join(part for part in (error.field, error.problem) if part)) from None
        assert document is not None  # the caller has recognized it
        self.recordings.append((where, document))
        self.recorded = where, data
        for note in notes:
            self.warnings.say(Warn("cleaned", f"{shown(where.file)}: {note}", file=shown(where.file)))

    def _decisions(self, where: Where, findings: Iterable[Finding]) -> None:
        """Report the real scheduler's decisions in a file, compared with ours."""
        for found in findings:
            second = "" if found.second is None else f"{found.second}"
            message = printable(f"{shown(where.file)}: {found.text}")
            self.warnings.say(Warn("decisions", message, file=shown(where.file), second=second))

    def _database(self, where: Where, data: bytes) -> None:
        """Read the objects of a database of etcd."""
        self.recorded = where, data
        notes: list[str] = []
        try:
            for value in etcd_objects(data, where.file, notes):
                for found in objects(msgspec.json.encode(value), where, self.limits):
                    self._found(found)
        except InputError as error:
            raise IngestError(where, error.problem) from None
        for note in notes:
            self.warnings.say(Warn("cleaned", f"{shown(where.file)}: {note}", file=shown(where.file)))

    def _has_nodes(self) -> bool:
        return any(kind == "Node" for kind, _, _ in self.result.records)

    def _check_decisions(self) -> None:
        """Check the decisions of the real scheduler in the recording, and the attempts in logs."""
        where, data = self.recorded or (Where(""), b"")
        with suppress(InputError):  # of an object of another file, or a configuration
            items = recorded_decisions.items_of(data, where.file) if self.recordings or self.logs else []
            latest = self._latest({item.kind for item in items}) if items or self.logs else {}
            if self.recordings:
                self._decisions(where, recorded_decisions.check(items, latest))
            for error, text in self.logs:
                log = scheduler_log.read(text, shown(error.where.file))
                self._decisions(error.where, log_findings.check(log, items, latest))

    def _latest(self, recorded: Collection[str]) -> dict[str, list[core.Object]]:
        """Return the objects of kinds that a recording lacks, by kind. Raises InputError."""
        found: dict[str, list[core.Object]] = {}
        for record in self.result.records.values() if len(self.result.records) <= MAX_CHANGES else ():
            if record.kind in core.KINDS and (kind := recorded_kind(raw := record.object())) and kind not in recorded:
                found.setdefault(kind, []).append(object_of(raw, record.name))
        return found

    def _use_logs(self) -> None:
        """Take the configuration of a log of kube-scheduler. Raises IngestError if no cluster came with it."""
        for error, text in self.logs:
            if not self.result.records and not self.result.time:
                raise error
            name = shown(error.where.file)
            with suppress(InputError):
                log = scheduler_log.read(text, name)
                found = read_documents(log.configuration, name) if not self.configs.text else []
                for document in found[:1]:
                    self.configs.document(Config(msgspec.json.encode(document), error.where))
                    self.warnings.say(Warn("config", f"the configuration is that of {name}", file=name))
            what = "is a log of kube-scheduler, which is no part of the cluster"
            command = f"`python -m scheduler_core log {name} --cluster FILE` shows all of its attempts"
            self.warnings.say(Warn("skipped-file", f"{name} {what}: {command}", file=name))

    def _keep_recorded(self) -> None:
        """Keep recorded changes, instead of the objects of their kinds in other files, which are of another time."""
        for where, document in self.recordings:
            spec = document["spec"]
            created = [entry["create"] for entry in spec["timeline"] if "create" in entry]
            kinds = {obj["kind"] for obj in (*spec["objects"], *created)}
            others = [key for key in self.result.records if key[0].partition(".")[0] in kinds]
            for key in others:
                del self.result.records[key]
            if others:
                found = "1 object was" if len(others) == 1 else f"{len(others):,} objects were"
                message = f"{found} left out, because {shown(where.file)} has recorded changes of these kinds"
                self.warnings.say(Warn("cleaned", message, file=shown(where.file)))
            for part in objects(msgspec.json.encode(document), where, self.limits):
                self._found(part)

    def _keep_described(self) -> None:
        """Keep the objects that `kubectl describe` prints and no other file has."""
        for where, text in self.described:
            raws, notes = described(text)
            for raw in raws:
                metadata = raw["metadata"]
                if (raw["kind"], metadata.get("namespace", ""), metadata["name"]) not in self.result.records:
                    for found in objects(msgspec.json.encode(raw), where, self.limits):
                        self._found(found)
            for note in notes:
                self.warnings.say(Warn("cleaned", f"{shown(where.file)}: {note}", file=shown(where.file)))

    # ---- objects

    def _known(self, value: Json) -> KnownPod | None:
        return self.templates.known(value)

    def _found(self, found: Part) -> None:
        self._check_alone(found)
        match found:
            case KnownObject():
                self.budget.take("max_objects", found.where)
                self._known_pod(found.found, found.where)
            case RunFile():
                self.result.run = found
            case UploadedObject():
                self.budget.take("max_objects", found.where)
                try:
                    self._object(found)
                except LimitError:
                    raise
                except NoObjectError as error:
                    self._no_object(error)
                except IngestError as error:
                    self.warnings.add("broken", error)
            case NoObjectError():
                self.budget.take("max_objects", found.where)
                self._no_object(found)
            case IngestError():
                self.budget.take("max_objects", found.where)
                self.warnings.add("broken", found)
            case Config():
                self.configs.document(found)
            case Time():
                self._time(found)
            case ClusterInfo():
                result = self.result
                result.name = result.name or shown(found.name)
                result.description = result.description or printable(found.description, "\n")
                result.kubernetes = result.kubernetes or shown(found.kubernetes)

    def _check_alone(self, found: Part) -> None:
        """Raise LimitError if a run file comes with other objects: they would change its run."""
        if isinstance(found, ClusterInfo):
            return
        run = self.result.run.where if self.result.run else None
        before = isinstance(found, RunFile) and bool(self.result.records or self.result.time)
        if before or (run and (run.file, run.document) != (found.where.file, found.where.document)):
            raise LimitError(found.where, ALONE)

    def _object(self, found: UploadedObject) -> None:
        kind = lookup(found.kind, found.api_version) if found.kind else None
        text = self.templates.text_of(found) if kind is not None and kind.name == "Pod" and self._fits(found) else None
        if text is not None and (template := self.templates.get(text)) is not None:
            self._known_pod(KnownPod(text.values, template), found.where)
            return
        where = found.where.at(kind=found.kind)
        if not found.kind:
            if what := useless_input_hint(fields=_fields(found)):
                raise NoObjectError(where, what)
            problem = "is missing, and the names of file and folder do not suggest a kind"
            wrong = NoObjectError if found.head.metadata is msgspec.UNSET else IngestError
            raise wrong(where, problem, "kind")
        related = neighbour(found.kind, found.api_version, _name_of(found.head.metadata)) if kind is None else None
        kind = kind or related
        if kind is None:
            self._other(found)
            return
        if kind.name == "Event" and not events.READ & {_text(found.head.reason), _text(found.head.internal_reason)}:
            self.result.dropped["events"] += 1
            return
        if not self._fits(found):
            raise IngestError(where, f"is larger than {self.limits.max_object_bytes:,} bytes")
        obj = read_object(found.value, where, self.limits.max_depth, nulls=False)
        if is_internal(obj):
            obj = external(obj)
        where, namespace, name, generated = self._identity(obj, kind, where)
        odds = clean(obj) if may_need_cleaning(found.value) else []
        for odd in odds:
            self.warnings.add("cleaned", IngestError(where, odd.problem, odd.path))
        dropped = Counter[str]()
        redact(obj, dropped)
        self.result.dropped.update(dropped)
        if kind.name == "Event":
            if event := events.small_event(obj):
                self.events.add(event)
            else:
                self.result.dropped["events"] += 1
            return
        if related is not None:
            obj = _neighbour(obj, kind, found, where)
            self._keep(ObjectRecord(kind.name, found.api_version, namespace, name, _encoded(obj, where)), where)
            return
        obj = normalise(obj, kind, found.api_version, namespace)
        notes = [(NAMED, 1, "")] if generated else []
        notes += defaults.fill(obj, admission=self.admission)
        _check(obj, where)
        self.result.filled.add(notes, defaults.title(obj))
        node = as_text(member(obj, ("spec", "nodeName"))) if kind.name == "Pod" else ""
        record = ObjectRecord(kind.name, kind.api_version, namespace, name, _encoded(obj, where), node)
        if not self._keep(record, where):
            return
        if kind.name == "Node":
            self.kubelets[as_text(member(obj, ("status", "nodeInfo", "kubeletVersion")))[:40]] += 1
        if not self.misspelt.look(kind.name, obj, where) and text is not None and not generated and not odds:
            self.templates.add(found, text, obj, record, notes, dropped)

    def _known_pod(self, pod: KnownPod, where: Where) -> None:
        template = pod.template
        if template.dropped:
            self.result.dropped.update(template.dropped)
        self.result.filled.add(template.notes, "pod")
        # `at` takes twice as long, for each pod
        self._keep(pod.record, Where(*where[:3], template.model.kind, *where[4:]))

    def _identity(self, obj: dict[str, Any], kind: Kind, where: Where) -> tuple[Where, str, str, bool]:
        """Return the position of the object, its namespace, its name, and whether the name was made from generateName.
        Raises IngestError for an invalid name."""
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict):
            raise IngestError(where, "is missing" if metadata is None else "is not an object", "metadata")
        name, namespace = metadata.get("name"), metadata.get("namespace") or ""
        for field, value in (("metadata.name", name), ("metadata.namespace", namespace)):
            if value is not None and not isinstance(value, str):
                raise IngestError(where, f"expected text, found {shown(value)}", field)
        namespace = (namespace or "default") if kind.namespaced else ""
        if base := generate_name(metadata):
            records = self.result.records
            name = self.names.name(kind.name, namespace, base, lambda name: (kind.name, namespace, name) in records)
            metadata["name"] = name
        where = where.at(name=name or "", namespace=namespace)
        if not name:
            raise IngestError(where, "is missing", "metadata.name")
        for field, value in (("metadata.name", name), ("metadata.namespace", namespace)):
            # As in the API server: a name must be a valid path segment.
            if len(value) > MAX_NAME or value in (".", "..") or "/" in value or "%" in value or not value.isprintable():
                raise IngestError(where, f"{shown(value)} cannot be a name", field)
        return where, namespace, name, bool(base)

    def _fits(self, found: UploadedObject) -> bool:
        return len(found.value) <= self.limits.max_object_bytes

    def _other(self, found: UploadedObject) -> None:
        """Count an object that is not stored, without decoding it. A ConfigMap may contain the scheduler
        configuration."""
        group = found.api_version.rpartition("/")[0]
        if found.kind == "Config" and not group:
            raise (IngestError if self.member else LimitError)(found.where, KUBECONFIG)
        self._count(found.kind, group, 1, _name_of(found.head.metadata))
        if found.kind == "ConfigMap" and not group and may_hold(found.value) and self._fits(found):
            self.configs.config_map(found.value, found.where.at(kind=found.kind))

    def _count(self, kind: str, group: str, number: int, key: str = "") -> None:
        """Count `number` objects of a kind that is not stored. `key`: namespace/name of one object, which counts once.

        A backup of Velero can contain an object in each version of its group.
        """
        if key:
            found = hash((kind, group, key))
            if found in self.counted:
                return
            self.counted.add(found)
        name = shown(f"{kind}.{group}" if group else kind)
        if kind in PRIVATE and not group:
            self.result.dropped[kind] += number
        elif kind == "Event" and lookup(kind, f"{group}/" if group else "") is not None:
            self.result.dropped["events"] += number
        elif name in self.result.unknown or len(self.result.unknown) < self.limits.max_warnings:
            self.result.unknown[name] += number
        else:
            self.result.unknown["other kinds"] += number

    def _keep(self, record: Record, where: Where) -> bool:
        """Keep an object. Return False if it was kept before."""
        key = (record.kind, record.namespace, record.name)
        before = self.result.records.get(key)
        if before is None:
            if record.kind in ("Node", "Pod"):
                self.budget.take(f"max_{record.kind.lower()}s", where)
        elif before.data == record.data:
            return False  # bundles contain objects both in lists and separately
        else:
            where = where.at(name=record.name, namespace=record.namespace)
            self.warnings.add("duplicate", IngestError(where, "occurs more than once; the last one is used"))
            del self.result.records[key]
        self.result.records[key] = record
        return True

    def _time(self, found: Time) -> None:
        """Read the virtual-time part of a scenario. Raises IngestError: an incomplete scenario would give misleading
        results."""
        # The scenario of a run file was stored before, so its form has no meaning.
        self.written = self.result.run is None
        where = found.where.at(kind="Scenario")
        if len(found.value) > scenario_time.MAX_BYTES:
            raise IngestError(where, f"is larger than {scenario_time.MAX_BYTES:,} bytes without its objects", "spec")
        spec = read_object(found.value, where, self.limits.max_depth)
        if not spec:
            return
        try:
            scenario_time.check(spec)
        except InputError as error:
            line = scenario_time.line(self.text, where, error.field)
            raise IngestError(where, shown(error.problem), line + shown(error.field)) from None
        for odd in clean(spec):
            self.warnings.add("cleaned", IngestError(where, odd.problem, f"spec.{odd.path}"))
        self.admission = (spec.get("controllers") or {}).get("admission") is not False
        self.templates = PodTemplates(self.limits.max_object_bytes)  # their defaults depend on admission
        scenario_time.redact(spec, self.result.dropped, self.result.unknown)
        if not spec.keys() - scenario_time.SCHEDULER:
            return
        if self.result.time:
            problem = "the upload has more than one scenario with a timeline; the last one is used"
            self.warnings.add("config", IngestError(where, problem))
        self.result.time = spec

    # ---- remarks

    def finish(self) -> IngestResult:
        self._keep_described()
        self._keep_recorded()
        self._use_logs()
        self._check_decisions()
        result = self.result
        # Skipped members next to a run file are its exported tables.
        for archive, number in self.skipped.items() if result.run is None else ():
            files = "1 file was" if number == 1 else f"{number:,} files were"
            problem = f"{files} skipped: neither the name nor the first bytes suggest JSON or YAML"
            self.warnings.add("skipped-file", IngestError(Where(archive), problem))
        for archive, members in self.without_objects.items() if result.run is None else ():
            some = "1 file contains" if len(members) == 1 else f"{len(members):,} files contain"
            self.warnings.add("skipped-file", IngestError(Where(archive), f"{some} no Kubernetes object"))
        if not result.records and not result.time:
            result.warnings = self.warnings.listed()
            raise self._nothing()
        result.config = self.configs.text
        if remark := self.configs.remark:
            self.warnings.say(Warn("config", remark))
        if self.written and not result.time and any(map(scenario_time.creates_pods, result.records.values())):
            result.time = {"controllers": {"workloads": True}}
        self._keep_events()
        if not result.kubernetes:
            self.kubelets.pop("", None)
            result.kubernetes = self.kubelets.most_common(1)[0][0] if self.kubelets else ""
        if is_newer(result.kubernetes):
            self.misspelt.look_at_newer(result.records.values())
        for error in self.misspelt.remarks():
            self.warnings.add(UNKNOWN_FIELD, error)
        self._check_whole()
        result.outlook = preflight.warnings_of_records(result.records.values(), result.config)
        result.warnings = self.warnings.listed()
        return result

    def _nothing(self) -> IngestError:
        wrong = next((w for w in self.result.warnings if w.code in ("broken", "unreadable-member")), None)
        if wrong is not None:
            return IngestError(Where("nothing in the upload could be read"), wrong.message)
        where = Where(self.files[0] if len(self.files) == 1 else "the upload")
        if self.configs.text:
            problem = "contains a scheduler configuration but no cluster; upload both together, or enter it for a run"
            return IngestError(where, problem)
        kinds = [*self.result.unknown, *(kind for kind in PRIVATE if self.result.dropped[kind])]
        if self.result.dropped["events"] or self.events.read:
            kinds.append("Event")
        if what := useless_input_hint(kinds):
            return IngestError(where, what)
        seen = [f"{number:,} {kind}" for kind, number in self.result.unknown.most_common(5)]
        problem = "contains no object that the scheduler uses" + (f", only {', '.join(seen)}" if seen else "")
        return IngestError(where, problem)

    def _keep_events(self) -> None:
        """Keep the events about objects that are in the upload."""
        kept = self.events.kept(self.result.records)
        if self.events.read > len(kept):
            self.result.dropped["events"] += self.events.read - len(kept)
        for event in kept:
            namespace, name = event["metadata"]["namespace"], event["metadata"]["name"]
            data = msgspec.json.encode({"apiVersion": "v1", "kind": "Event", **event})
            self.result.records["Event", namespace, name] = ObjectRecord("Event", "v1", namespace, name, data)

    def _check_whole(self) -> None:
        nodes = {name for kind, _, name in self.result.records if kind == "Node"}
        if not nodes and not self.result.time:
            self.warnings.say(Warn("no-nodes", "the upload contains no nodes, so no pod can be scheduled"))
            return
        strays: Counter[str] = Counter()
        for (kind, _, _), record in self.result.records.items():
            if kind == "Pod" and (node := record.node) and node not in nodes:
                strays[node] += 1
        for node, number in strays.most_common(20):
            pods = "1 pod is" if number == 1 else f"{number:,} pods are"
            message = f"{pods} on node {shown(node)}, which is not in the upload"
            self.warnings.say(Warn("missing-node", message, kind="Node", name=node))


def _check(obj: dict[str, Any], where: Where) -> None:
    """Validate the object with the scheduler core, including the template of a workload whose pods it may create.
    Raises IngestError if the core rejects it."""
    try:
        core.decode(obj)
        if pod_template.makes_pods(obj) and defaults.is_typed(obj):
            pod_template.read(obj)
    except InputError as error:
        raise IngestError(where, error.problem, error.field) from None


def _neighbour(obj: dict[str, Any], kind: Kind, found: UploadedObject, where: Where) -> dict[str, Any]:
    """Return what is stored of an object that only waits are read from. Raises IngestError."""
    metadata = obj["metadata"] | {"namespace": where.namespace}
    try:
        read = read_fields(obj | {"metadata": metadata, "kind": found.kind}, kind.name)
    except InputError as error:
        raise IngestError(where, error.problem, error.field) from None
    return {"apiVersion": found.api_version, "kind": found.kind, **read}


def _encoded(obj: dict[str, Any], where: Where) -> bytes:
    """Return the JSON of an object. Raises IngestError."""
    try:
        return msgspec.json.encode(obj)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, RecursionError):
        raise IngestError(where, "contains text that is not valid Unicode") from None


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


def _name_of(metadata: Any) -> str:
    """Return namespace/name of metadata as JSON; "" if they have none."""
    try:
        found = msgspec.json.decode(metadata, type=_Named) if metadata is not msgspec.UNSET else None
    except msgspec.MsgspecError:
        return ""
    return f"{found.namespace}/{found.name}" if found is not None and found.name else ""


def _fields(found: UploadedObject) -> list[str]:
    """Return the names of the fields of a small object."""
    if len(found.value) > SMALL:
        return []
    try:
        return list(msgspec.json.decode(found.value, type=dict[str, msgspec.Raw]))
    except msgspec.MsgspecError:
        return []


def _text(value: Any) -> str:
    """Return a JSON string as text; "" for any other value."""
    try:
        return msgspec.json.decode(value, type=str) if value is not msgspec.UNSET else ""
    except msgspec.DecodeError:
        return ""
