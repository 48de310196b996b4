"""An export is the whole or is seen to be none: one whose run goes while it is read does not come to its end."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from kubesched_ui.event_log import fingerprints
from kubesched_ui.exports import run_export
from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.recordings import node, pod, ran, scenario

FORMATS = {
    "jsonl": run_export.jsonl,
    "run": run_export.run_file,
    "simulator": run_export.simulator,
    "parquet": run_export.parquet,
}

pytestmark = pytest.mark.django_db


def read(run: Run, form: str, gone: Any) -> bytes:
    """All of it; after its first piece `gone` is deleted."""

    async def whole() -> bytes:
        found = b""
        async for piece in FORMATS[form](run):
            found += piece
            if gone is not None and gone.pk:
                await gone.adelete()
        return found

    return async_to_sync(whole)()


@pytest.mark.parametrize("which", ["run", "scenario"])
@pytest.mark.parametrize("form", FORMATS)
def test_one_of_a_run_that_is_deleted_meanwhile_breaks(form: str, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_export, "CHUNK", 1)
    monkeypatch.setattr(fingerprints, "AT_ONCE", 1)
    run = ran(scenario(node("n1"), *(pod(f"p{i}") for i in range(3))))
    assert read(run, form, None)
    with pytest.raises(Exception, match=r"was deleted|does not exist"):
        read(run, form, Run.objects.get() if which == "run" else Scenario.objects.get())
