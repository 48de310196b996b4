"""Which transport a context gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_core.live.connections import context_transport
from scheduler_core.live.transport import TransportError

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("installed", [True, False])
async def test_a_context_uses_kubectl_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    if installed:
        (tmp_path / "kubectl").write_text("#!/bin/sh\necho 'error: no such context' >&2\nexit 1\n")
        (tmp_path / "kubectl").chmod(0o755)
    transport = context_transport("c", "kubesched/1")
    with pytest.raises(TransportError) as failed:
        async with transport.get("/version", {}):
            pass
    await transport.close()
    assert str(failed.value) == (
        "kubectl proxy for context c ended with status 1: no such context."
        if installed
        else "kubeconfig: contexts: there is no context 'c'; contexts are: none."
    )


async def test_slow_packages_are_imported_only_where_they_are_used() -> None:
    program = (
        "import sys, scheduler_core.live.discovery\nassert 'aiohttp' not in sys.modules\n"
        "import scheduler_core.live.connections\nassert 'kubernetes_asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
