"""Typed readers of environment variables, and what the embedded set-up keeps under var/."""

import os
import secrets
import stat
import tempfile
from hashlib import sha256
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}
UNIX_PATH_LIMIT = 100  # sun_path holds 104 bytes on macOS, 108 on Linux


def text(name: str, default: str = "") -> str:
    """The variable, or `default` where it is unset or empty."""
    return os.environ.get(name) or default


def flag(name: str, default: bool = False) -> bool:
    """A boolean variable. Raises ValueError on anything but 1/0, true/false, yes/no, on/off."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise ValueError(f"{name} must be one of 1, 0, true, false, yes, no, on, off, not {value!r}")


def number(name: str, default: int) -> int:
    """An integer variable. Raises ValueError naming the variable."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None


def names(name: str, default: str = "") -> list[str]:
    """A comma-separated variable as a list without blanks."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def choice(name: str, *choices: str) -> str:
    """One of these words, the first by default. Raises ValueError naming the variable and the choices."""
    value = text(name, choices[0])
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def networks(name: str, default: str = "") -> list[str]:
    """Comma-separated networks, `10.0.0.0/8`, or addresses. Raises ValueError naming the variable."""
    found = names(name, default)
    for network in found:
        try:
            ip_network(network, strict=False)
        except ValueError:
            raise ValueError(f"{name} must be networks as 10.0.0.0/8, comma-separated, not {network!r}") from None
    return found


def accounts() -> bool:
    """Whether people sign in: as ACCOUNTS says, else where HOST is an address that other machines reach."""
    return flag("ACCOUNTS", default=not is_loopback(text("HOST", "127.0.0.1")))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def openid_connect() -> list[dict[str, Any]]:
    """The provider that OIDC_ISSUER names, as allauth has it; none where it is unset. Raises ValueError naming what
    else is needed."""
    issuer = text("OIDC_ISSUER")
    if not issuer:
        return []
    if missing := [name for name in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET") if not text(name)]:
        raise ValueError(f"{missing[0]} is needed where OIDC_ISSUER is set")
    client = {"client_id": text("OIDC_CLIENT_ID"), "secret": text("OIDC_CLIENT_SECRET")}
    name = text("OIDC_NAME", "OpenID Connect")
    return [{"provider_id": "oidc", "name": name, "settings": {"server_url": issuer}, **client}]


def max_upload() -> int:
    """Bytes of one upload, all files together."""
    return number("INGEST_MAX_BYTES", 200 * 1024 * 1024)


def private_folder(path: Path) -> None:
    """Makes the folder where everything is kept, for its owner alone: clusters, keys and logs are nobody else's.

    One that others may write to (VAR_DIR=/tmp) is not ours to close.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != os.getuid() or found.st_mode & stat.S_IWOTH:
        return
    if found.st_mode & 0o077:
        path.chmod(0o700)
        for file in path.glob("*.sqlite3*"):  # of a version that left them as they came
            file.chmod(0o600)


def warnings() -> list[str]:
    """What is to be said of the environment when a process starts."""
    if "*" not in names("ALLOWED_HOSTS"):
        return []
    return [
        "ALLOWED_HOSTS is *: the page of any site whose name is pointed here can read and change everything. "
        "Name the hosts that people type instead."
    ]


def secret_key(var: Path) -> str:
    """SECRET_KEY, else the key kept in `var`, made on first use and readable by its owner only."""
    if given := text("SECRET_KEY"):
        return given
    path = var / "secret_key"
    if not (path.exists() and path.read_text().strip()):
        var.mkdir(parents=True, exist_ok=True)
        temporary = var / f"secret_key.{os.getpid()}"
        temporary.touch(mode=0o600)
        temporary.write_text(secrets.token_urlsafe(50))
        temporary.replace(path)  # atomic: two processes that start together never read half a key
    return path.read_text().strip()


def socket_path(var: Path) -> Path:
    """Where the embedded broker listens: under `var`, or in a private temporary folder where that path is too long."""
    path = var / "broker.sock"
    if len(str(path)) <= UNIX_PATH_LIMIT:
        return path
    folder = Path(tempfile.gettempdir()) / f"kubesched-{os.getuid()}-{sha256(str(var).encode()).hexdigest()[:12]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise ValueError(f"{folder} belongs to somebody else; set VAR_DIR to a shorter path")
    return folder / "broker.sock"
