"""Backups of either database restore into either database. An invalid backup changes nothing."""

import gzip
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import Client

from kubesched_ui.accounts import invitations
from kubesched_ui.backup import restore, tables
from kubesched_ui.backup.create import create_backup
from kubesched_ui.backup.format import NAME, Batch, End, Header, Writer
from kubesched_ui.management.commands import restore as command
from kubesched_ui.models import Breakpoint, Run, Scenario, Upgrade
from tests.kubesched_ui.backup.databases import default_database, type_of
from tests.kubesched_ui.instance import POSTGRES, postgres_server
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

STORED = Path(__file__).with_name("stored")

ADDRESSES = [
    *("/", "/scenarios/", "/scenarios/{s}/", "/scenarios/{s}/nodes/", "/scenarios/{s}/pods/"),
    "/scenarios/{s}/objects/",
    *("/runs/", "/runs/{r}/", "/runs/{r}/pods/default/b/", "/runs/{r}/nodes/n1/", "/runs/{t}/", "/runs/{r}/export/"),
    *("/runs/{t}/pods/default/a/", "/upgrades/{u}/", "/api/scenarios", "/api/runs", "/api/runs/{r}/events"),
    *("/api/runs/{r}/pods", "/api/runs/{r}/cycles/1", "/api/runs/{r}/state?cycle=1", "/api/runs/{r}/breakpoints"),
    *("/api/runs/{t}/lanes", "/api/runs/{t}/events", "/api/runs/{r}/map", "/api/upgrades/{u}"),
]


@pytest.fixture(autouse=True)
def no_running_process(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(command, "in_use", lambda: "")


@pytest.fixture
def stored() -> dict[str, int]:
    """Store rows in most tables: a single-pass and a virtual time run, a preview, users. Return their primary keys."""
    cluster = scenario(node("n1"), node("n2"), pod("a"), pod("b", cpu="64"), name="ünï \"quoted\" 'name'")
    run, in_time = ran(cluster, seed=7, name="first"), ran(cluster, in_time=True, until=60.0)
    Breakpoint.objects.create(run=run, name="b", where='pod.name == "b"')
    upgrade = Upgrade.objects.create(scenario=cluster, releases=["1.33", "1.34"], state="done", steps=[])
    upgrade.runs.add(run)
    group = Group.objects.create(name="class")
    User.objects.create_user("ann", "ann@example.org", "a password").groups.add(group)
    gone = ran(cluster)
    gone.delete()
    return {"s": cluster.pk, "r": run.pk, "t": in_time.pk, "u": upgrade.pk}


def pages(numbers: dict[str, int]) -> dict[str, Any]:
    """Return URL -> page, without the time of the request."""
    client, found = Client(headers={"host": "localhost"}), {}
    for address in ADDRESSES:
        answer = client.get(address.format(**numbers))
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"|\d+ (second|minute)s? ago|just now', "", body.decode())
        found[address] = (answer.status_code, json.loads(text) if address.startswith("/api") else text)
    assert {status for status, _ in found.values()} == {200}, {a: s for a, (s, _) in found.items() if s != 200}
    return found


def contents() -> dict[str, list[Any]]:
    """Return label -> rows, as Python values."""
    return {
        label: list(model._base_manager.order_by("pk").values_list(*(f.attname for f in tables.columns(model))))
        for label, model in tables.kept().items()
    }


def backed_up(path: Path) -> Path:
    call_command("backup", str(path), stderr=io.StringIO())
    return path


def restored(path: Path, *options: str) -> str:
    message = io.StringIO()
    call_command("restore", str(path), *options, stdout=message)
    return message.getvalue()


@pytest.fixture
def others(tmp_path: Path) -> Iterator[list[str]]:
    """Return other databases, to restore into one after the other."""
    with ExitStack() as servers:
        urls = [f"sqlite:///{tmp_path}/second.sqlite3"]
        if POSTGRES:
            urls += [servers.enter_context(postgres_server()).url, f"sqlite:///{tmp_path}/last.sqlite3"]
        yield urls


@pytest.mark.long
def test_a_backup_restores_into_either_database(
    stored: dict[str, int], others: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite to SQLite, SQLite to PostgreSQL, PostgreSQL to SQLite."""
    path, before, rows = backed_up(tmp_path / "1.backup"), pages(stored), contents()
    for number, url in enumerate(others, 2):
        with default_database(url):
            assert invitations.first()  # as a new server with accounts has created it
            assert "rows of" in restored(path)
            assert contents() == rows, url
            assert pages(stored) == before, url
            assert Run.objects.create(scenario_id=stored["s"]).pk > stored["t"]
            with pytest.raises(CommandError, match=r"not empty: it contains .*scenario.* --replace"):
                restored(path)
            restored(path, "--replace")
            assert contents() == rows, url
            path = backed_up(tmp_path / f"{number}.backup")
            write_meanwhile(monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.name for path in STORED.iterdir()))
def test_backups_of_every_version_are_restored(tmp_path: Path, name: str) -> None:
    """`scripts/store_recording.py` creates them, with runs in virtual time, a fork and a user."""
    restored(STORED / name)
    assert set(Run.objects.values_list("state", flat=True)) == {"done"}
    assert Run.objects.filter(in_time=True).exists()
    assert Run.objects.filter(parent__isnull=False).exists()
    assert list(User.objects.get(username="ann").groups.values_list("name", flat=True)) == ["class"]
    client = Client(headers={"host": "localhost"})
    assert {client.get(f"/runs/{run.pk}/").status_code for run in Run.objects.all()} == {200}
    rows = contents()
    restored(backed_up(tmp_path / "newer"), "--replace")
    assert contents() == rows


def test_every_table_is_included_or_excluded_with_a_reason() -> None:
    there = set(connection.introspection.table_names()) - {"django_migrations"}
    assert {model._meta.db_table for model in tables.every().values()} == there
    assert set(tables.LEFT_OUT) <= set(tables.every())
    assert all(len(reason) > 10 for reason in tables.LEFT_OUT.values())


def without(monkeypatch: pytest.MonkeyPatch, app: str) -> None:
    """Act as if the app were not installed."""
    every, known, applied = tables.every(), tables.known(), tables.applied()
    for name, found in (("known", known), ("applied", applied)):
        left = {migration for migration in found if not migration.startswith(f"{app}.")}
        monkeypatch.setattr(tables, name, lambda *_, left=left: left)
    models = {label: model for label, model in every.items() if not label.startswith(f"{app}.")}
    monkeypatch.setattr(tables, "every", lambda: models)


@pytest.mark.long
def test_a_backup_without_accounts_restores_into_accounts_but_not_back(
    stored: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, whole = contents(), backed_up(tmp_path / "whole")
    with monkeypatch.context() as patched:
        without(patched, "accounts")
        part = backed_up(tmp_path / "part")
        with pytest.raises(CommandError, match=r"disabled here \(accounts\); restore it with"):
            restored(whole, "--replace")
    restored(part, "--replace")
    assert contents() == rows


def test_a_backup_is_a_consistent_snapshot(stored: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    write_meanwhile(monkeypatch)


def write_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write from another connection, without waiting, after the first table was read."""
    rows, wrote = tables.rows, []

    def reading(model: Any, chunk: int) -> Any:
        if model is Run and not wrote:
            other = type_of(dict(connections["default"].settings_dict))
            with other.cursor() as cursor:
                cursor.execute("UPDATE kubesched_ui_run SET name = 'later'")
                wrote.append(cursor.rowcount)
            other.close()
        return rows(model, chunk)

    file = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(tables, "rows", reading)
        create_backup(file)
    assert wrote == [Run.objects.count()]
    assert set(Run.objects.values_list("name", flat=True)) == {"later"}
    assert b"later" not in gzip.decompress(file.getvalue().partition(b"\n")[2])


def damaged(whole: bytes) -> dict[str, tuple[bytes, str]]:
    def headed(version: str, *migrations: str) -> bytes:
        file = io.BytesIO()
        writer = Writer(file)
        writer.add(Header("", version, [*migrations, *sorted(tables.known())], {}))
        writer.close()
        return file.getvalue()

    middle = len(whole) // 2
    flipped = bytes(byte ^ 255 for byte in whole[middle : middle + 9])
    return {
        "empty": (b"", "not a KubeSched backup"),
        "foreign": (b"PK\3\4" * 100, "not a KubeSched backup"),
        "cut off": (whole[:middle], "truncated"),
        "cut off at its beginning": (whole[:25], "truncated"),
        "changed": (whole[:middle] + flipped + whole[middle + 9 :], "is damaged|truncated"),
        "format": (whole.replace(NAME + b"1", NAME + b"2", 1), "format 2; this version of KubeSched reads 1"),
        "newer": (headed("9.0", "kubesched_ui.9999_later"), r"newer version of KubeSched \(9.0, with .*9999_later\)"),
        "of other tables": (headed("0.0"), r"created by KubeSched 0\.0, whose tables differ from this version"),
    }  # fmt: skip


def test_an_invalid_backup_changes_nothing(stored: dict[str, int], tmp_path: Path) -> None:
    path = backed_up(tmp_path / "backup")
    rows, whole = contents(), path.read_bytes()
    for name, (data, message) in damaged(whole).items():
        path.write_bytes(data)
        with pytest.raises(CommandError, match=rf"(?s){message}.* Nothing was changed") as error:
            restored(path, "--replace")
        assert "\n" not in str(error.value), name
    assert contents() == rows
    with pytest.raises(CommandError, match="No such file"):
        restored(tmp_path / "missing", "--replace")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("kubesched_ui.Scenario", r"damaged: values of kubesched_ui.Scenario cannot be read\."),
        ("kubesched_ui.Moves", r"could not be restored: .*NOT NULL"),
    ],
)
def test_rows_that_cannot_be_stored_change_nothing(
    stored: dict[str, int], tmp_path: Path, label: str, message: str
) -> None:
    rows, path = contents(), tmp_path / "backup"
    names = {label: [f.attname for f in tables.columns(model)] for label, model in tables.kept().items()}
    with path.open("wb") as file:
        writer = Writer(file)
        writer.add(Header("", "", sorted(tables.applied()), names))
        writer.add(Batch(label, [[None] * len(names[label])]))
        writer.add(End({label: 1}))
        writer.close()
    with pytest.raises(CommandError, match=rf"{message}.* Nothing was changed"):
        restored(path, "--replace")
    assert contents() == rows


def test_a_failed_backup_leaves_the_previous_one(
    stored: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = backed_up(tmp_path / "backup")
    whole = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "add", full)
    with pytest.raises(CommandError, match="No space left"):
        backed_up(path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["backup"]


def test_a_restore_is_refused_while_processes_run(
    stored: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = backed_up(tmp_path / "backup")
    with command.lock(tmp_path), pytest.raises(CommandError, match=r"already running.* Nothing was changed"):
        restored(path, "--replace")
    monkeypatch.setattr(command, "in_use", lambda: "A worker answers.")
    with pytest.raises(CommandError, match="Stop web and workers first"):
        restored(path, "--replace")


def test_standard_streams(stored: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    rows, stream = contents(), io.BytesIO()
    with monkeypatch.context() as piped:
        piped.setattr(sys, "stdout", SimpleNamespace(buffer=stream, isatty=lambda: False))
        call_command("backup", "-", stderr=io.StringIO())
        stream.seek(0)
        piped.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        Scenario.objects.all().delete()
        call_command("restore", "-", "--replace", stdout=io.StringIO())
    assert contents() == rows


def test_columns_of_later_migrations_get_their_defaults() -> None:
    names = {field.attname for field in tables.columns(Run)}
    assert restore.fits(Run, names - {"pinned"}, changed=True)
    assert not restore.fits(Run, names - {"pinned"}, changed=False)
    assert not restore.fits(Run, names - {"scenario_id"}, changed=True), "it has no default"
    assert not restore.fits(Run, names | {"gone"}, changed=True)
    assert restore.insertion(Run, sorted(names - {"pinned"}))[2] == [False]
