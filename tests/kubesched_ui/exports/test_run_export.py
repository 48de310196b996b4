"""An export of a run that is deleted meanwhile fails instead of looking complete."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from kubesched_ui.event_log import fingerprints
from kubesched_ui.exports import run_export
from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def read(run: Run, form: str, gone: Any) -> bytes:
    """Read the whole export, and delete `gone` after the first chunk."""

    async def whole() -> bytes:
        found = b""
        async for piece in run_export.in_thread(run, run_export.FORMATS[form][0](run)):
            found += piece
            if gone is not None and gone.pk:
                await gone.adelete()
        return found

    return async_to_sync(whole)()


@pytest.mark.parametrize("which", ["run", "scenario"])
@pytest.mark.parametrize("form", run_export.FORMATS)
def test_the_export_of_a_deleted_run_breaks(form: str, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_export, "CHUNK", 1)
    monkeypatch.setattr(fingerprints, "AT_ONCE", 1)
    run = ran(scenario(node("n1"), *(pod(f"p{i}") for i in range(3))))
    assert read(run, form, None)
    with pytest.raises(Exception, match=r"was deleted|does not exist"):
        read(run, form, Run.objects.get() if which == "run" else Scenario.objects.get())
