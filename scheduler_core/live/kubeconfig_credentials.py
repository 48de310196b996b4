"""Credentials of a kubeconfig's user without kubectl, by kubernetes_asyncio: its configuration alone.

This module checks first what kubernetes_asyncio ignores or gets wrong, so that a wrong configuration is one sentence.
Imported by the follower alone, because the import is slow and large.
"""

import asyncio
import base64
import binascii
import json
import logging
import os
import shutil
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, kube_config

from scheduler_core.live.aiohttp_transport import Endpoint, create_tls_context
from scheduler_core.live.in_cluster import TokenFile, reason
from scheduler_core.live.kubectl_proxy import SETTINGS_PREFIX
from scheduler_core.live.private_folder import create_private_folder
from scheduler_core.live.redaction import redacted
from scheduler_core.live.transport import TransportError

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
LOAD_TIMEOUT = 60.0
_Raw = dict[str, Any]
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")
# It logs the output of credential plugins.
logging.getLogger("kubernetes_asyncio").setLevel(logging.CRITICAL + 1)


async def authenticate(context: str, cluster: _Raw, user: _Raw) -> Endpoint:
    """Return the endpoint of a cluster for a user. Raises TransportError with one sentence, without credentials."""
    where = f"context {context}"
    _check(where, cluster, user)
    if user.get("exec"):
        # The settings of the server have passwords, which the plugin need not know.
        hidden = [{"name": name, "value": ""} for name in os.environ if name.startswith(SETTINGS_PREFIX)]
        user = {**user, "exec": {**user["exec"], "env": [*(user["exec"].get("env") or ()), *hidden]}}
    config = {
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
    }
    folder = ""
    try:
        folder = str(create_private_folder())
        loader = _OidcLoader(config, active_context="context", config_base_path="", temp_file_path=folder)
        loaded = Configuration()
        await asyncio.wait_for(loader.load_and_set(loaded), LOAD_TIMEOUT)
        host = str(loaded.host)
        tls = _tls(where, loaded) if host.startswith("https://") else None
        expires = loader.expires()
    except TransportError:
        raise
    except TimeoutError:
        raise TransportError(f"The credentials of {where} were not available within {LOAD_TIMEOUT:g} s.") from None
    except ConfigException as error:
        raise TransportError(f"The credentials of {where} could not be loaded: {_reason(error)}.") from None
    except OSError as error:
        file = f"{redacted(error.filename)}: " if isinstance(error.filename, str) else ""
        raise TransportError(f"The credentials of {where} could not be loaded: {file}{reason(error)}.") from None
    except binascii.Error:
        raise TransportError(f"The credentials of {where} have data that is not base64.") from None
    except Exception as error:  # kubernetes_asyncio raises KeyError, AssertionError and TypeError for wrong fields
        raise TransportError(f"The credentials of {where} are not valid ({type(error).__name__}).") from None
    finally:
        _remove_temporary_files(folder)
    token = str(loaded.api_key.get("BearerToken") or "").strip()
    if not (token.isascii() and token.replace("\t", " ").isprintable()):
        raise TransportError(f"The token of {where} has characters that no HTTP header can have.")
    headers = {"Authorization": token} if token else {}
    authorization = TokenFile(Path(user["tokenFile"])).headers if user.get("tokenFile") else lambda: headers
    authorization()
    return Endpoint(
        f"the API server of {where}",
        host,
        tls=tls,
        server_hostname=loaded.tls_server_name or None,
        proxy=loaded.proxy,
        authorization=authorization,
        expires=expires,
    )


class _OidcLoader(kube_config.KubeConfigLoader):
    """The loader of kubernetes_asyncio, with another refresh of OpenID Connect and the time of expiry."""

    async def _refresh_oidc(self, provider: Any) -> None:
        # kubernetes_asyncio does not verify the issuer's certificate without its own authority, and fails with one.
        config: _Raw = provider["config"].value
        for field in ("refresh-token", "idp-issuer-url", "client-id"):
            if not config.get(field):
                raise ConfigException(f"the id-token has expired and {field} is missing")
        issuer = str(config["idp-issuer-url"]).rstrip("/")
        if not issuer.startswith("https://"):
            raise ConfigException("the id-token has expired and idp-issuer-url is not an https address")
        tls = create_tls_context()
        if config.get("idp-certificate-authority-data"):
            tls.load_verify_locations(cadata=base64.b64decode(config["idp-certificate-authority-data"]).decode())
        elif config.get("idp-certificate-authority"):
            tls.load_verify_locations(config["idp-certificate-authority"])
        form = {"grant_type": "refresh_token", "refresh_token": config["refresh-token"]}
        login = aiohttp.encode_basic_auth(config["client-id"], config.get("client-secret") or "")
        try:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
                async with session.get(f"{issuer}/.well-known/openid-configuration") as response:
                    endpoint = (await response.json(content_type=None))["token_endpoint"]
                if not str(endpoint).startswith("https://"):
                    raise ConfigException("the token endpoint of the issuer is not an https address")
                async with session.post(
                    endpoint, data=form, headers={"Authorization": login}, allow_redirects=False
                ) as response:
                    if response.status != 200:
                        raise ConfigException(f"the issuer refused to renew the id-token with status {response.status}")
                    config["id-token"] = (await response.json(content_type=None))["id_token"]
        except (aiohttp.ClientError, KeyError, TypeError, ValueError):
            raise ConfigException("the id-token has expired and the issuer could not renew it") from None

    def expires(self) -> float | None:
        """Return the Unix seconds at which the loaded credentials end, if they say so."""
        if hasattr(self, "exec_plugin_expiry"):
            return float(self.exec_plugin_expiry.timestamp())
        if self.provider == kube_config.PROVIDER_TYPE_OIDC:
            part = self.token.split(".")[1]
            expires = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))).get("exp")
            return float(expires) if expires is not None else None
        return None


def _check(where: str, cluster: _Raw, user: _Raw) -> None:
    server = cluster.get("server")
    if not isinstance(server, str) or urlsplit(server).scheme not in ("https", "http") or not urlsplit(server).hostname:
        raise TransportError(f"The cluster of {where} has no server address that begins with https://.")
    if "@" in urlsplit(server).netloc:
        raise TransportError(f"The server address of the cluster of {where} must have no user.")
    skip, authority = cluster.get("insecure-skip-tls-verify"), "certificate-authority"
    if skip and (cluster.get(authority) or cluster.get(f"{authority}-data")):
        raise TransportError(
            f"The cluster of {where} has {authority} and insecure-skip-tls-verify; only one is allowed."
        )
    proxy = cluster.get("proxy-url")
    if proxy and urlsplit(str(proxy)).scheme not in ("http", "https"):
        raise TransportError(f"The proxy-url of {where} is not an http address; install kubectl to use others.")
    if set_ := [field for field in _IMPERSONATION if user.get(field)]:
        raise TransportError(f"The user of {where} impersonates another ({set_[0]}); install kubectl to use it.")
    provider = user.get("auth-provider")
    name = provider.get("name") if isinstance(provider, dict) else provider
    if name and name != kube_config.PROVIDER_TYPE_OIDC:
        raise TransportError(
            f"The user of {where} has the auth provider {_shown(name)}, which Kubernetes 1.26 removed."
        )
    if user.get("exec"):
        _check_plugin(where, user["exec"])


def _check_plugin(where: str, plugin: Any) -> None:
    command = plugin.get("command") if isinstance(plugin, dict) else None
    if not isinstance(command, str) or not command:
        raise TransportError(f"The credential plugin (exec) of {where} has no command.")
    if not all(isinstance(plugin.get(field) or [], list) for field in ("args", "env")):
        raise TransportError(f"The args and env of the credential plugin of {where} must be lists.")
    version = plugin.get("apiVersion")
    if version not in EXEC_VERSIONS:
        raise TransportError(
            f"The credential plugin of {where} has apiVersion {_shown(version)}, not {EXEC_VERSIONS[0]}."
        )
    if plugin.get("interactiveMode") == "Always":
        raise TransportError(f"The credential plugin {redacted(command)} of {where} needs a terminal.")
    if shutil.which(command) is None:
        raise TransportError(
            f"The credential plugin {redacted(command)} of {where} is not installed on the server's machine."
        )


def _tls(where: str, loaded: Any) -> ssl.SSLContext:
    try:
        tls = create_tls_context(loaded.ssl_ca_cert)
    except ssl.SSLError:
        raise TransportError(f"The certificate-authority of {where} has no certificate.") from None
    if not loaded.verify_ssl:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if loaded.cert_file:
        if not loaded.key_file:
            raise TransportError(f"The user of {where} has a client certificate without a key.")
        try:
            # Without a password function, OpenSSL would read a passphrase from the terminal.
            tls.load_cert_chain(loaded.cert_file, loaded.key_file, password=_no_passphrase)
        except (ssl.SSLError, ValueError):
            raise TransportError(f"The client certificate and key of {where} do not fit or are not valid.") from None
    return tls


def _shown(value: Any) -> str:
    return repr(redacted(str(value)))


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase")


def _reason(error: Exception) -> str:
    """Return the reason of kubernetes_asyncio, without credentials and temporary paths."""
    text = redacted(str(error)).removeprefix("exec: ").removeprefix("oidc: ").rstrip(".")
    return text.replace("File does not exists", "this file does not exist") or "no reason was given"


def _remove_temporary_files(folder: str) -> None:
    """Remove the certificates and keys that kubernetes_asyncio wrote for OpenSSL. It would keep them until the end."""
    for content, file in list(kube_config._temp_files.items()):
        if folder and file.startswith(folder):
            del kube_config._temp_files[content]
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
