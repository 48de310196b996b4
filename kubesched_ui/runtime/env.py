"""Typed readers of environment variables, and the files that the embedded set-up stores under var/.

Each variable has the prefix KUBESCHED_. Callers pass the name without the prefix. VARIABLES documents all of them.
"""

import os
import re
import secrets
import stat
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

PREFIX = "KUBESCHED_"
ORIGIN = re.compile(r"https?://(\*\.)?[a-zA-Z0-9.-]+(:\d{1,5})?")  # no characters that separate CSP sources
SECRET_KEY_LENGTH = 50  # minimum number of characters, as in Django's own check
TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}
UNIX_PATH_LIMIT = 100  # sun_path has 104 bytes on macOS and 108 on Linux


class Variable(NamedTuple):
    """A variable: its default (a phrase if the default depends on something else) and its meaning."""

    default: str
    about: str


ACCOUNTS_ON = "{}; 0 without accounts"
VARIABLES: Mapping[str, Variable] = {
    # Addresses and secrets
    "HOST": Variable("127.0.0.1", "Address to listen on. In the image: 0.0.0.0."),
    "PORT": Variable("8000", "Port to listen on. With Docker Compose: the published port."),
    "PUBLISH_ADDRESS": Variable("127.0.0.1", "Docker Compose alone: address of this machine to publish the port on."),
    "ALLOWED_HOSTS": Variable("localhost,127.0.0.1,[::1]", "Host names of this server, comma-separated."),
    "CSRF_TRUSTED_ORIGINS": Variable("", "Further origins whose forms are accepted, comma-separated."),
    "EMBED_ORIGINS": Variable("", "Sites that may show lessons in a frame, such as `https://wiki.example.com`."),
    "BEHIND_TLS": Variable("0", "1: a proxy terminates TLS. Cookies are secure, `X-Forwarded-Proto` is trusted."),
    "PROXIES": Variable("0", "Number of proxies in front whose `X-Forwarded-For` is trusted. With Docker Compose: 1."),
    "SECRET_KEY": Variable("a key in `var/secret_key`", "Signs cookies and links. The same for all processes."),
    "DATABASE_URL": Variable("SQLite in `var/`", "`postgres://USER@HOST:PORT/DATABASE`."),
    "DATABASE_PASSWORD": Variable("", "Password for DATABASE_URL, with any characters."),
    "REDIS_URL": Variable("the embedded server", "`redis://HOST:PORT/NUMBER` of Redis or Valkey."),
    "REDIS_PASSWORD": Variable("", "Password for REDIS_URL, with any characters."),
    "VAR_DIR": Variable("`var/`", "Folder for the SQLite file, logs, static files and uploads in progress."),
    "DEBUG": Variable("0", "1: Django's debug mode. Never on a server."),
    # Accounts
    "ACCOUNTS": Variable("1 unless HOST is a loopback address", "Whether users sign in."),
    "REGISTER": Variable("invite", "Who may create an account: `invite`, `oidc` or `open`."),
    "OIDC_ISSUER": Variable("", "Address of an OpenID Connect provider."),
    "OIDC_CLIENT_ID": Variable("", "Client ID at the provider."),
    "OIDC_CLIENT_SECRET": Variable("", "Client secret at the provider."),
    "OIDC_NAME": Variable("OpenID Connect", "Name of the provider on the sign-in page."),
    "AUDIT_DAYS": Variable("365", "Days that audit log entries are kept."),
    # Logs and metrics
    "LOG_LEVEL": Variable("INFO", "Lowest level that is logged."),
    "LOG_FORMAT": Variable("plain", "`plain` or `json`."),
    "METRICS_TOKEN": Variable("", "Bearer token for `/metrics`."),
    "METRICS_NETWORKS": Variable("127.0.0.0/8,::1/128", "Networks that read `/metrics` without a token."),
    # Disk, quotas, retention
    "DISK_MIN_FREE_BYTES": Variable(ACCOUNTS_ON.format("1000000000"), "With less free space, writes get status 503."),
    "DATABASE_MAX_BYTES": Variable("0", "With a larger database, writes get status 503. 0: no limit."),
    "QUOTA_BYTES": Variable(ACCOUNTS_ON.format("2000000000"), "Stored bytes of a user. 0 is no limit in all quotas."),
    "QUOTA_SCENARIOS": Variable(ACCOUNTS_ON.format("200"), "Scenarios of a user, without samples."),
    "QUOTA_RUNS": Variable(ACCOUNTS_ON.format("500"), "Runs of a user."),
    "QUOTA_PODS": Variable(ACCOUNTS_ON.format("50000"), "Pods of one run."),
    "QUOTA_RUNNING": Variable(
        ACCOUNTS_ON.format("5"), "Runs, upgrade previews and experiments of a user that wait or run."
    ),
    "KEEP_DAYS": Variable(ACCOUNTS_ON.format("90"), "Days until runs and scenarios are deleted. 0: never."),
    # Runs
    "RUN_LOST_AFTER_S": Variable("10", "Seconds without a heartbeat after which another worker continues a run."),
    "RUN_SHORT_SECONDS": Variable("10", "Runs with a shorter estimate use the workers for short runs."),
    "RUN_TIME_LIMIT_S": Variable("3600", "Maximum duration of a run in seconds."),
    "RUN_SHORT_SLOTS": Variable("number of CPUs, less 1", "Short runs at once, with `make run`."),
    "RUN_LONG_SLOTS": Variable("number of CPUs, at least 2", "Long runs at once, with `make run`."),
    "RUN_LONG_PER_PERSON": Variable("RUN_LONG_SLOTS, less 1", "Long runs of one user at once. With Docker Compose: 1."),
    "RUN_MAX_PODS": Variable("200000", "Pods of one run."),
    "RUN_MAX_RECORDS": Variable("2000000", "Changes in one run in virtual time."),
    "RUN_MAX_SECONDS": Variable("604800", "Virtual seconds of one run."),
    "EXPERIMENT_MAX_CELLS": Variable("10000", "Cells of one experiment."),
    "EXPERIMENT_MAX_BYTES": Variable("200000000", "Bytes of all results of one experiment, before compression."),
    "UPGRADE_MAX_SECONDS": Variable("600", "Seconds that an upgrade preview searches for causes between two releases."),
    # Web processes
    "SOCKETS_MAX": Variable("2000", "WebSockets of one web process."),
    "WEB_MAX_MEMORY": Variable("629145600", "Bytes of a web process above which it is replaced."),
    "DRAIN_S": Variable("3", "Seconds that a stopping web process has for requests. With Docker Compose: 30."),
    "OFFLOAD_PROCESSES": Variable("2", "Processes for expensive requests, and twice as many for exports."),
    "OFFLOAD_MAX_MEMORY": Variable("2147483648", "Bytes of one such process."),
    "OFFLOAD_MAX_SECONDS": Variable("120", "Seconds for a response, or for the next part of an export."),
    "EXPORTS_MAX_BYTES": Variable("4294967296", "Bytes on disk of exports that a web process has not sent yet."),
    "COMPOSE_MAX_MEMORY": Variable("536870912", "Bytes of a process that checks a text of the editor."),
    "COMPOSE_MAX_SECONDS": Variable("10", "Seconds for one text of the editor."),
    # Uploads
    "INGEST_MAX_BYTES": Variable("209715200", "Bytes of one upload."),
    "INGEST_MAX_NODES": Variable("10000", "Nodes of one upload."),
    "INGEST_MAX_PODS": Variable("200000", "Pods of one upload."),
    "INGEST_MAX_OBJECTS": Variable(
        "the larger of 500000 and twice the limits of nodes and pods", "Objects of any kind of one upload."
    ),
    "INGEST_MAX_TEXT": Variable(
        "the larger of 1073741824 and five times `KUBESCHED_INGEST_MAX_BYTES`", "Bytes of text of one upload, unpacked."
    ),
    "INGEST_MAX_SECONDS": Variable("300", "Seconds to read one upload."),
    "INGEST_MAX_MEMORY": Variable("4294967296", "Bytes of the process that reads an upload."),
    "INGEST_READERS": Variable("number of CPUs, at most 4", "Large uploads that are read at once."),
    "UPLOADS_AT_ONCE": Variable("40", "Large request bodies that a web process receives at once."),
    "UPLOADS_MAX_BYTES": Variable("4294967296", "Bytes of all request bodies that a web process receives at once."),
    # Live classes
    "LIVE_CLASS_HOURS": Variable("12", "Hours that students may join and answer."),
    "LIVE_CLASS_KEEP_DAYS": Variable("7", "Days that names and answers stay after that."),
    "LIVE_CLASS_STUDENTS_MAX": Variable("500", "Students of one live class."),
    "LIVE_CLASSES_MAX": Variable("200", "Live classes that are open at once."),
    # Live clusters
    "CLUSTERS": Variable("", "Live clusters, comma-separated: `NAME` or `NAME=CONTEXT`; CONTEXT may be `in-cluster`."),
    "CLUSTERS_ALWAYS": Variable("", "Names of the clusters that are followed even without an open page."),
    "CLUSTERS_FILE": Variable("", "YAML file that names live clusters (docs/live.md)."),
    "CONTEXTS": Variable("1 on a loopback address without accounts", "1: offer the contexts of the kubeconfig."),
    "HISTORY_HOURS": Variable("24", "Hours of history of each live cluster."),
    "HISTORY_MAX_BYTES": Variable("1000000000", "Bytes of history of each live cluster."),
}

EARLIER = {
    **{f"OFFLOAD_{name}": f"BESIDE_{name}" for name in ("PROCESSES", "MAX_MEMORY", "MAX_SECONDS")},
    **{f"LIVE_CLASS_{name}": f"ROOM_{name}" for name in ("HOURS", "KEEP_DAYS", "STUDENTS_MAX")},
    "LIVE_CLASSES_MAX": "ROOMS_MAX",
}
"""Variable -> its name in version 1.0, which is read if the new one is not set."""


class InvalidEnvironment(ValueError):
    """Raised if an environment variable has a value that cannot be used."""


def text(name: str, default: str = "") -> str:
    """Return the variable, or `default` if it is unset or empty. If it is not set, the name of earlier versions is
    read."""
    return raw(name) or default


def raw(name: str) -> str | None:
    return next((os.environ[known] for known in (PREFIX + name, *_old_names(name)) if known in os.environ), None)


def _old_names(name: str) -> tuple[str, ...]:
    """Return the names of a variable in earlier versions, and the name without the prefix."""
    return (f"{PREFIX}{EARLIER[name]}",) if name in EARLIER else (name,)


def table() -> str:
    """Return VARIABLES as a table for docs/operations.md."""
    rows = [f"| `{PREFIX}{name}` | {one.default or '-'} | {one.about} |" for name, one in VARIABLES.items()]
    return "\n".join(["| Variable | Default | Meaning |", "| --- | --- | --- |", *rows])


def flag(name: str, default: bool = False) -> bool:
    """Return a boolean variable. Raises InvalidEnvironment on anything but 1/0, true/false, yes/no, on/off."""
    value = raw(name)
    if value is None:
        return default
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise InvalidEnvironment(f"{PREFIX}{name} must be one of 1, 0, true, false, yes, no, on, off, not {value!r}")


def number(name: str, default: int) -> int:
    """Return an integer variable. Raises InvalidEnvironment with the name of the variable."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise InvalidEnvironment(f"{PREFIX}{name} must be a whole number, not {value!r}") from None


def names(name: str, default: str = "") -> list[str]:
    """Return a comma-separated variable as a list without blanks and empty parts."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def choice(name: str, *choices: str) -> str:
    """Return a variable that must be one of `choices`; the first is the default.
    Raises InvalidEnvironment with the name of the variable and the choices."""
    value = text(name, choices[0])
    if value not in choices:
        raise InvalidEnvironment(f"{PREFIX}{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def networks(name: str, default: str = "") -> list[str]:
    """Return comma-separated networks such as `10.0.0.0/8`, or addresses.
    Raises InvalidEnvironment with the name of the variable."""
    found = names(name, default)
    for network in found:
        try:
            ip_network(network, strict=False)
        except ValueError:
            raise InvalidEnvironment(f"{PREFIX}{name} must be networks such as 10.0.0.0/8, not {network!r}") from None
    return found


def origins(name: str) -> list[str]:
    """Return comma-separated origins such as `https://wiki.example.com`. Raises InvalidEnvironment with the name of the
    variable."""
    found = names(name)
    for origin in found:
        if not ORIGIN.fullmatch(origin):
            raise InvalidEnvironment(f"{PREFIX}{name} must be origins such as https://wiki.example.com, not {origin!r}")
    return found


def accounts() -> bool:
    """Return whether users sign in: the value of ACCOUNTS, or by default whether other machines can reach HOST."""
    return flag("ACCOUNTS", default=not is_loopback(text("HOST", "127.0.0.1")))


def contexts() -> bool:
    """Return whether contexts of the kubeconfig are offered: CONTEXTS, or by default whether only users of this machine
    can reach the server."""
    return flag("CONTEXTS", default=not accounts() and is_loopback(text("HOST", "127.0.0.1")))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def openid_connect() -> list[dict[str, Any]]:
    """Return the OpenID Connect provider of OIDC_ISSUER as allauth settings; an empty list if it is unset. Raises
    InvalidEnvironment with the name of a missing variable."""
    issuer = text("OIDC_ISSUER")
    if not issuer:
        return []
    if missing := [name for name in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET") if not text(name)]:
        raise InvalidEnvironment(f"{PREFIX}{missing[0]} is required if {PREFIX}OIDC_ISSUER is set")
    client = {"client_id": text("OIDC_CLIENT_ID"), "secret": text("OIDC_CLIENT_SECRET")}
    name = text("OIDC_NAME", "OpenID Connect")
    return [{"provider_id": "oidc", "name": name, "settings": {"server_url": issuer}, **client}]


def max_upload() -> int:
    """Return the maximum size of one upload in bytes, all files together."""
    return number("INGEST_MAX_BYTES", 200 * 1024 * 1024)


def folder(path: Path, mode: int = 0o777) -> Path:
    """Create a folder unless it exists, with its parents, and return it. Raises InvalidEnvironment if that fails, such
    as where a file has its name."""
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file has this name" if path.is_file() else error.strerror
        problem = f"The folder {path} cannot be created: {reason}. {PREFIX}VAR_DIR names the folder for data."
        raise InvalidEnvironment(problem) from None
    return path


def private_folder(path: Path) -> None:
    """Create the data folder, readable only by its owner: clusters, keys and logs are private. A folder that belongs to
    another user, or that all users may write to (VAR_DIR=/tmp), keeps its mode. Raises InvalidEnvironment."""
    found = folder(path, 0o700).stat()
    if found.st_uid != os.getuid() or found.st_mode & stat.S_IWOTH:
        return
    if found.st_mode & 0o077:
        path.chmod(0o700)
        for file in path.glob("*.sqlite3*"):  # earlier versions used the default mode
            file.chmod(0o600)


def warnings() -> list[str]:
    """Return warnings about the environment, for the log of a process that starts."""
    found = [
        f"The environment variable {old} was renamed to {PREFIX}{name}. The next version will not read {old}."
        for name in VARIABLES
        for old in _old_names(name)
        if os.environ.get(old) and PREFIX + name not in os.environ
    ]
    known = {PREFIX + name for name in (*VARIABLES, *EARLIER.values())}
    unknown = [name for name in os.environ if name.startswith(PREFIX) and name not in known]
    found += [f"There is no setting {name}; see docs/operations.md." for name in sorted(unknown)]
    if "*" in names("ALLOWED_HOSTS"):
        found.append(
            f"{PREFIX}ALLOWED_HOSTS is *: any domain that resolves to this server is accepted as its own "
            "origin. List the host names instead."
        )
    return found


def check_secret_key(key: str) -> str:
    """Return `key`. Raises InvalidEnvironment if the key is weak."""
    if len(key) < SECRET_KEY_LENGTH or len(set(key)) < 5 or key.startswith("django-insecure-"):
        raise InvalidEnvironment(
            f"{PREFIX}SECRET_KEY must be a random text of at least {SECRET_KEY_LENGTH} characters. "
            "`openssl rand -base64 48` creates one."
        )
    return key


def url(name: str, password_name: str, default: str) -> str:
    """Return the URL of a service, with its password quoted and inserted. Raises InvalidEnvironment with the name of
    the variable if the URL is invalid."""
    url = text(name, default)
    if url.startswith(("sqlite:", "unix:")):
        return url
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018, raises ValueError
    except ValueError as problem:
        hint = f"Give the password in {PREFIX}{password_name}, or quote it (/ as %2F)."
        raise InvalidEnvironment(f"{PREFIX}{name} is not a URL ({problem}). {hint}") from None
    if not parts.scheme or not parts.hostname:
        raise InvalidEnvironment(f"{PREFIX}{name} must be a URL such as scheme://user@host:port/name.")
    if not (password := text(password_name)):
        return url
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}:{quote(password, safe='')}@{host}").geturl()


def secret_key(var: Path) -> str:
    """Return SECRET_KEY, or the key stored in `var`. The first use creates that file, readable only by its owner.
    Raises InvalidEnvironment if SECRET_KEY is weak."""
    if given := text("SECRET_KEY"):
        return check_secret_key(given)
    path = var / "secret_key"
    if not (path.exists() and path.read_text().strip()):
        temporary = folder(var) / f"secret_key.{os.getpid()}"
        temporary.touch(mode=0o600)
        temporary.write_text(secrets.token_urlsafe(50))
        temporary.replace(path)  # atomic: two processes that start together never read half a key
    return path.read_text().strip()


def socket_path(var: Path, name: str = "broker.sock") -> Path:
    """Return the path of a unix socket: under `var`, or in a private temporary folder if that path is too long."""
    path = var / name
    if len(str(path)) <= UNIX_PATH_LIMIT:
        return path
    name_of_var = sha256(str(var).encode()).hexdigest()[:12]
    short = folder(Path(tempfile.gettempdir()) / f"kubesched-{os.getuid()}-{name_of_var}", 0o700)
    if short.stat().st_uid != os.getuid():
        raise InvalidEnvironment(f"{short} belongs to another user; set {PREFIX}VAR_DIR to a shorter path")
    return short / name
