"""Compose file, container image, Makefile and environment variables."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from kubesched_ui.celery import app
from kubesched_ui.runtime import env, supervisord_config
from kubesched_ui.web.server import HANDSHAKE_S, OURS, Server
from tests.strict_files import yaml_document

Reader = Callable[..., dict[str, Any]]
READERS = {"text", "flag", "number", "names", "choice", "networks", "raw"}
REQUIRED = {
    "KUBESCHED_SECRET_KEY": "0123456789" * 5,
    "KUBESCHED_DATABASE_PASSWORD": "a/b#c?d[e%41@:",
    "KUBESCHED_REDIS_PASSWORD": "x y/@",
}


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` with its variables substituted as Compose does. Raise KeyError if a required one is missing."""

    def value(match: re.Match[str]) -> str:
        name, kind, word = match.groups()
        if match[0] == "$$":
            return "$"
        if not variables.get(name) and kind == "?":
            raise KeyError(word)
        return variables.get(name) or word or ""

    return re.sub(r"\$\$|\$\{(\w+)(?::([-?])([^${}]*))?\}", value, text)


def compose_services(checkout: Path, **variables: str) -> dict[str, Any]:
    """Return the services with their variables substituted as Compose does."""

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        if isinstance(part, list):
            return [filled(value) for value in part]
        return substitute(part, variables) if isinstance(part, str) else part

    found: dict[str, Any] = filled(yaml_document((checkout / "docker-compose.yml").read_text())["services"])
    return found


def container_environment(service: Mapping[str, Any], **variables: str) -> dict[str, str]:
    """Return the environment of a container. Names without a value take it from `variables`."""
    values = {name: variables.get(name) if value is None else value for name, value in service["environment"].items()}
    return {name: value for name, value in values.items() if value is not None}


@pytest.fixture
def read_settings(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Reader:
    """Return a function that loads the settings with the environment variables of a container."""

    def read(**variables: str) -> dict[str, Any]:
        for name in [name for name in os.environ if name.startswith(env.PREFIX)]:
            monkeypatch.delenv(name)
        for name, value in ({"KUBESCHED_VAR_DIR": str(tmp_path)} | variables).items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(checkout / "kubesched_ui" / "settings.py"))

    return read


def run_python(*arguments: str, cwd: Path, var: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in another process. `var`: the data folder."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "KUBESCHED_VAR_DIR": str(var)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment | variables, capture_output=True, text=True)


@pytest.mark.parametrize("name", REQUIRED)
def test_compose_requires_a_secret_key(checkout: Path, name: str) -> None:
    given = {each: value for each, value in REQUIRED.items() if each != name}
    with pytest.raises(KeyError, match=f"set {name} in .env"):
        compose_services(checkout, **given)


def test_every_container_has_resource_limits(checkout: Path) -> None:
    services = compose_services(checkout, **REQUIRED)
    assert {"web", "worker", "worker-short", "follow", "migrate", "redis", "postgres", "proxy"} == services.keys()
    for name, service in services.items():
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"]), name
        assert all(service[limit] for limit in ("read_only", "mem_limit", "cpus", "pids_limit")), name
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}, name
        assert (service["restart"] == "no") is (name == "migrate")
        assert ("healthcheck" in service) is (name not in ("migrate", "follow"))  # leases find a silent follower
    assert [service["ports"] for service in services.values() if "ports" in service] == [["127.0.0.1:8000:8080"]]
    template = services["proxy"]["volumes"][0].partition(":")[0]
    wanted = set(re.findall(r"\$\{(\w+)\}", (checkout / template).read_text()))
    assert wanted == {"LISTEN", "WEB", "NGINX_LOCAL_RESOLVERS"}
    assert wanted <= {*services["proxy"]["environment"], "NGINX_LOCAL_RESOLVERS"}


def test_checks_of_containers_leave_time_to_start(checkout: Path) -> None:
    for name, service in compose_services(checkout, **REQUIRED).items():
        if check := service.get("healthcheck"):
            assert check["start_period"].endswith("m"), name
            assert int(check["start_period"][:-1]) >= 5, name
            assert check["test"][0] != "CMD-SHELL" or "celery" not in check["test"][1] or check["timeout"] == "60s"


def test_a_low_limit_of_open_files_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisord_config.resource, "getrlimit", lambda kind: (300, 300))
    for command in ("run", "serve"):
        with pytest.raises(CommandError, match=r"may open only 300 files here; .* ulimit -n 4096"):
            call_command(command)


def test_compose_passes_every_setting(checkout: Path, read_settings: Reader) -> None:
    given = REQUIRED | {"KUBESCHED_QUOTA_RUNS": "7", "KUBESCHED_ALLOWED_HOSTS": "kubesched.example"}
    given[f"KUBESCHED_{env.EARLIER['LIVE_CLASSES_MAX']}"] = "9"
    web = compose_services(checkout, **given)["web"]
    in_image = {"VAR_DIR", "HOST", "PORT", "PUBLISH_ADDRESS"}
    names = {*env.VARIABLES, *env.EARLIER.values()} - in_image
    assert web["environment"].keys() == {f"KUBESCHED_{name}" for name in names}
    found = read_settings(**container_environment(web, **given))
    assert (found["QUOTA_RUNS"], found["ALLOWED_HOSTS"]) == (7, ["kubesched.example"])
    assert found["LIVE_CLASSES_MAX"] == 9
    assert (found["ACCOUNTS"], found["PROXIES"]) == (True, 1)
    database = found["DATABASES"]["default"]
    assert (database["PASSWORD"], database["HOST"]) == (REQUIRED["KUBESCHED_DATABASE_PASSWORD"], "postgres")
    assert found["REDIS_URL"] == "redis://:x%20y%2F%40@redis:6379/0"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"KUBESCHED_SECRET_KEY": "x"}, "KUBESCHED_SECRET_KEY must be a random text of at least 50 characters"),
        ({"SECRET_KEY": "x" * 60}, "KUBESCHED_SECRET_KEY must be a random text of at least 50 characters"),
        ({"KUBESCHED_DATABASE_URL": "postgres://u:p/[x@h:5/d"}, "KUBESCHED_DATABASE_URL is not a URL"),
        ({"KUBESCHED_REDIS_URL": "localhost"}, "KUBESCHED_REDIS_URL must be a URL"),
        ({"KUBESCHED_KEEP_DAYS": "many"}, "KUBESCHED_KEEP_DAYS must be a whole number"),
    ],
)
def test_an_invalid_setting_is_rejected_by_name(read_settings: Reader, variables: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_settings(**variables)


@pytest.mark.slow
def test_a_command_with_an_invalid_setting_exits_with_one_sentence(checkout: Path, tmp_path: Path) -> None:
    done = run_python("manage.py", "run", cwd=checkout, var=tmp_path, KUBESCHED_KEEP_DAYS="many")
    assert (done.returncode, done.stderr) == (1, "KUBESCHED_KEEP_DAYS must be a whole number, not 'many'\n")


@pytest.mark.slow
def test_preparation_exits_with_the_reason_if_the_database_is_down(checkout: Path, tmp_path: Path) -> None:
    variables = {
        "KUBESCHED_DATABASE_URL": "postgres://kubesched@127.0.0.1:1/x",
        "KUBESCHED_DATABASE_PASSWORD": "/#?[%41",
    }
    done = run_python("manage.py", "prepare", cwd=checkout, var=tmp_path, **variables)
    assert done.returncode == 1
    assert done.stderr.startswith("manage.py prepare: The database x at 127.0.0.1 cannot be used: ")
    assert "Traceback" not in done.stderr


def test_the_documentation_has_the_table_of_settings(checkout: Path) -> None:
    """`python -c "from kubesched_ui import env; print(env.table())"` prints it."""
    assert env.table() in (checkout / "docs" / "operations.md").read_text()


def test_the_table_has_every_setting(checkout: Path) -> None:
    read = {"PUBLISH_ADDRESS"}  # by Compose
    for path in (checkout / "kubesched_ui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = ast.unparse(node.func)
            if function.startswith("env.") or (path.name == "env.py" and function in READERS):
                names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
                read |= {name for name in names if isinstance(name, str) and re.fullmatch("[A-Z_]+", name)}
    assert read - {"INFO"} == env.VARIABLES.keys()


def test_the_table_has_the_defaults(checkout: Path, read_settings: Reader) -> None:
    values = read_settings(KUBESCHED_ACCOUNTS="1")
    source = (checkout / "kubesched_ui" / "settings.py").read_text()
    settings = {variable: name for name, variable in re.findall(r'^(\w+) = env\.\w+\("(\w+)"', source, re.M)}
    for name, variable in env.VARIABLES.items():
        default, setting = variable.default.partition(";")[0], settings.get(name, name)
        if default.isdigit() and setting in values and name != "DEBUG":
            assert str(values[setting]) == default, name


@pytest.mark.parametrize(
    ("old", "new"), [("KEEP_DAYS", "KEEP_DAYS"), ("KUBESCHED_ROOM_HOURS", "LIVE_CLASS_HOURS")], ids=["prefix", "word"]
)
def test_deprecated_names_work_with_a_warning(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    monkeypatch.setenv(old, "3")
    monkeypatch.setenv("KUBESCHED_NO_SUCH_THING", "3")
    assert env.number(new, 90) == 3
    assert f"{old} was renamed to KUBESCHED_{new}" in env.warnings()[0]
    assert "KUBESCHED_NO_SUCH_THING" in env.warnings()[-1]
    monkeypatch.setenv(f"KUBESCHED_{new}", "4")
    assert env.number(new, 90) == 4
    assert not any(new in warning for warning in env.warnings())


@pytest.mark.long
@pytest.mark.slow
def test_the_image_has_all_files_to_start(checkout: Path, tmp_path: Path) -> None:
    """.dockerignore excludes files from the build context. The image contains the files of the wheel."""
    lines = re.findall(r"^COPY (.+) (\S+)$", (checkout / "Dockerfile").read_text(), re.MULTILINE)
    sources = [source for words, _ in lines for source in words.split()]
    excepted = re.findall(r"^!(.+)$", (checkout / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(excepted) == sorted(sources)
    wheel = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    shipped = {*wheel["packages"], *wheel["force-include"]}
    assert {*sources} - {"manage.py", "pyproject.toml", "requirements.txt", "LICENSE", "NOTICE"} == shipped
    image = tmp_path / "app"
    for source in sources:
        place = image / source
        place.parent.mkdir(parents=True, exist_ok=True)
        if (checkout / source).is_dir():
            shutil.copytree(checkout / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(checkout / source, place)
    start = """
import django
django.setup()
from django.test import Client
from kubesched_ui import asgi
from kubesched_ui.lessons import runner
from kubesched_ui.presenters import plugin_notes
from kubesched_ui.documentation import markdown_pages
assert Client().get("/healthz").status_code == 200
assert all(path.is_file() for path in runner.OWN_PLUGINS.values())
assert plugin_notes.notes()
assert markdown_pages.pages() and markdown_pages.files()
"""
    done = run_python("-c", start, cwd=image, var=tmp_path / "var")
    assert done.returncode == 0, done.stderr


def test_the_image_installs_packages_by_hash(checkout: Path) -> None:
    installs = re.findall(r"pip install (.*)", (checkout / "Dockerfile").read_text())
    assert [line.removesuffix(" \\") for line in installs] == [
        "--no-cache-dir --require-hashes --only-binary=:all: -r requirements.txt"
    ]


def test_every_requirement_is_pinned_and_explained(checkout: Path) -> None:
    dependencies = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["dependencies"]
    text = (checkout / "docs" / "dependencies.md").read_text().lower()
    for requirement in dependencies:
        name, pinned, _ = requirement.partition("==")
        assert pinned, requirement
        assert name.lower().partition("[")[0] in text, requirement


@pytest.mark.long
def test_production_settings_pass_djangos_deployment_check(checkout: Path, tmp_path: Path) -> None:
    command = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    variables = {"KUBESCHED_SECRET_KEY": "0123456789" * 6, "KUBESCHED_BEHIND_TLS": "1"}
    done = run_python(*command, cwd=checkout, var=tmp_path, **variables)
    assert done.returncode == 0, done.stderr


def test_the_secret_key_is_generated_once_and_private(tmp_path: Path) -> None:
    key = env.secret_key(tmp_path)
    assert len(key) > 50
    assert env.secret_key(tmp_path) == key
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_data_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    new, old, shared = tmp_path / "a" / "new", tmp_path / "old", tmp_path / "shared"
    for folder, bits in ((old, 0o755), (shared, 0o777)):
        folder.mkdir()
        folder.chmod(bits)
        (folder / "kubesched.sqlite3-wal").touch(mode=0o644)
    for folder in (new, old, shared):
        env.private_folder(folder)
    assert [mode(folder) for folder in (new, old, shared)] == [0o700, 0o700, 0o777]
    assert mode(old / "kubesched.sqlite3-wal") == 0o600
    assert "umask = 077" in supervisord_config.configuration(supervisord_config.programs("127.0.0.1", 8000))


@pytest.mark.parametrize("name", ["", "uploads", "static", "log"])
def test_a_file_in_place_of_a_folder_is_named(
    tmp_path: Path, checkout: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    settings.VAR_DIR = tmp_path / "var"
    place = settings.VAR_DIR / name
    place.parent.mkdir(exist_ok=True)
    place.touch()
    monkeypatch.setenv("KUBESCHED_VAR_DIR", str(settings.VAR_DIR))

    def start() -> None:
        runpy.run_path(str(checkout / "kubesched_ui" / "settings.py"))
        supervisord_config.configuration({})

    with pytest.raises(env.InvalidEnvironment, match=f"{re.escape(str(place))} cannot be created: a file has this"):
        start()


@pytest.mark.long
@pytest.mark.slow
def test_files_of_processes_are_private(checkout: Path, tmp_path: Path) -> None:
    """Run `manage.py run` without a supervisor, whose umask would apply otherwise."""
    code = """
from unittest.mock import Mock, patch
from django.core.management import call_command
import django
ended = Mock(poll=lambda: 0, wait=lambda: 0)
django.setup()
with patch('kubesched_ui.management.commands.run.start', return_value=ended), \\
     patch('kubesched_ui.housekeeping.vacuum.vacuum', side_effect=lambda alone: print('vacuum', alone)):
    call_command('run')
"""
    var = tmp_path / "var"
    done = run_python("-c", code, cwd=checkout, var=var, KUBESCHED_PORT="0", KUBESCHED_ALLOWED_HOSTS="*")
    files = [path for path in var.rglob("*") if path.is_file()]
    assert {"kubesched.sqlite3", "supervisord.conf", "secret_key"} <= {path.name for path in files}, done.stderr
    assert {mode(path) for path in files} == {0o600}
    assert "Warning: KUBESCHED_ALLOWED_HOSTS is *" in done.stderr
    assert done.stdout == "vacuum True\n"  # no other process uses the database yet


@pytest.mark.slow
def test_a_single_web_process_logs_warnings(checkout: Path, tmp_path: Path) -> None:
    """Start it as a container does, up to the point where it serves."""
    code = f"""
from unittest.mock import patch
from kubesched_ui.web import server
with patch('kubesched_ui.web.static_files.collect'), patch.object(server.CommandLineInterface, 'run'):
    server.CommandLine().run(['{OURS}'])
"""
    done = run_python("-c", code, cwd=checkout, var=tmp_path, KUBESCHED_ALLOWED_HOSTS="*")
    assert done.returncode == 0, done.stderr
    assert "ALLOWED_HOSTS is *" in done.stderr


def test_celery_replaces_a_worker_that_grew_after_its_run() -> None:
    """Celery does this. With acks_late, no run is lost."""
    assert app.conf.worker_max_memory_per_child == 1_000_000  # kB
    assert (app.conf.task_acks_late, app.conf.task_reject_on_worker_lost) == (True, True)


def test_many_simultaneous_connections_are_accepted() -> None:
    """By default Daphne rejects a handshake after 5 s, and the system queues at most 50 connections."""
    server = Server(None, ["tcp:port=0", "unix:/x"])
    assert server.endpoints == ["tcp:port=0:backlog=1024", "unix:/x"]
    assert server.websocket_connect_timeout == server.websocket_handshake_timeout == HANDSHAKE_S >= 30
    assert server.websocket_timeout == -1


def test_a_wildcard_host_gives_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_ALLOWED_HOSTS", "kubesched.example")
    assert env.warnings() == []
    monkeypatch.setenv("KUBESCHED_ALLOWED_HOSTS", "a.example,*")
    assert "any domain" in env.warnings()[0]


def test_environment_variables_are_parsed_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_FLAG", "Yes")
    monkeypatch.setenv("KUBESCHED_NUMBER", "7")
    monkeypatch.setenv("KUBESCHED_NAMES", "a, b,,c")
    assert (env.flag("FLAG"), env.number("NUMBER", 1), env.names("NAMES")) == (True, 7, ["a", "b", "c"])
    monkeypatch.setenv("KUBESCHED_FLAG", "perhaps")
    monkeypatch.setenv("KUBESCHED_NUMBER", "many")
    with pytest.raises(ValueError, match="FLAG"):
        env.flag("FLAG")
    with pytest.raises(ValueError, match="NUMBER"):
        env.number("NUMBER", 1)


def test_a_long_path_does_not_break_the_socket_of_the_broker(tmp_path: Path) -> None:
    assert env.socket_path(tmp_path / "short").parent == tmp_path / "short"
    long = tmp_path / ("x" * 120)
    assert len(str(env.socket_path(long))) < env.UNIX_PATH_LIMIT
    assert env.socket_path(long) != env.socket_path(tmp_path / ("y" * 120))


def test_the_data_folder_is_not_committed(checkout: Path) -> None:
    subprocess.run(["git", "check-ignore", "-q", "var/secret_key"], cwd=checkout, check=True)


def queues(command: str) -> set[str]:
    found = re.search(r"-Q\W+([a-z,]+)", command)
    assert found, command
    return set(found[1].split(","))


def test_every_queue_has_workers_and_short_runs_have_their_own(checkout: Path) -> None:
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()} | {settings.CELERY_TASK_DEFAULT_QUEUE}
    services = yaml_document((checkout / "docker-compose.yml").read_text())["services"]
    compose = {name: queues(" ".join(services[name]["command"])) for name in ("worker", "worker-short")}
    programs = supervisord_config.programs("127.0.0.1", 8000)
    embedded = {name: queues(programs[f"program:{name}"]["command"]) for name in ("worker", "worker-short")}
    for found in (compose, embedded):
        assert found["worker"] | found["worker-short"] == routed
        assert found["worker-short"] == {"short"}
    assert compose["worker"] == routed  # so that `docker compose --scale worker=N` serves all queues
