"""Upgrade previews: the decisions of other releases for a scenario. See docs/debugger.md."""

from typing import Any, Literal

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, START, permission
from kubesched_ui.api.common import REFUSALS, Flag, Text, find
from kubesched_ui.api.compare import CauseUnit
from kubesched_ui.models import Scenario, Upgrade
from kubesched_ui.upgrades import presenters, services

router = Router(tags=["upgrades"])


class UpgradeIn(Schema):
    model_config = {"extra": "forbid"}

    releases: list[Text] = Field(min_length=2, max_length=100, examples=[["1.33", "1.34"]])
    every: Flag = Field(
        True, description="Whether pods that a scheduler placed on a node are scheduled again, as the page proposes."
    )


class UpgradeStarted(Schema):
    id: int
    url: str
    runs: dict[str, int] = Field(description="Release -> ID of its run.")

    @staticmethod
    def resolve_url(upgrade: Upgrade) -> str:
        return reverse("api:upgrade", args=[upgrade.pk])

    @staticmethod
    def resolve_runs(upgrade: Upgrade) -> dict[str, int]:
        return {release: run.pk for release, run in upgrade.run_of().items()}


class UpgradeOutcome(Schema):
    result: str
    node: str
    nominated: str = Field(description="The nominated node")
    victims: list[str]
    message: str


class ChangedOut(Schema):
    pod: str
    change: str = Field(
        description="moved, gained, lost, other, only_a, only_b or nominated; reasons: no node in either, for other "
        "reasons; words: the same rejections with different messages"
    )
    a: UpgradeOutcome | None
    b: UpgradeOutcome | None
    cause: list[int] | None = Field(description="Indexes in `units`; null: none was found")
    minimal: bool = Field(description="Whether every smaller set was tried")
    direct: bool | None = Field(
        None, description="Whether the pod also changes alone on the cluster as it is; null: unknown"
    )


class SwitchOut(CauseUnit):
    pods: int = Field(description="Number of decisions that it contributes to")
    words: int = Field(description="Number of messages and reasons that it contributes to")


class StepOut(Schema):
    a: str = Field(description="Name of a release")
    b: str = Field(description="Name of the next release")
    pods: int
    summary: dict[str, int]
    sentence: str
    direct: int | None = Field(None, description="Number of decisions that change directly; null: unknown")
    direct_sentence: str = ""
    units: list[SwitchOut]
    changed: list[ChangedOut]
    runs: int = Field(description="Number of runs that were replayed to find the causes")
    note: str


class RunProgress(Schema):
    run: int
    release: str
    state: str
    done: int
    total: int


class UpgradeOut(ModelSchema):
    scenario_id: int
    stalled: bool
    releases: list[str]
    runs: list[RunProgress] = Field(description="In the order of the releases.")
    known: int = Field(description="Number of finished steps.")

    class Meta:
        model = Upgrade
        fields = [
            *("id", "releases", "every", "state", "error", "done", "planned"),
            *("created_at", "started_at", "finished_at"),
        ]

    @staticmethod
    def resolve_runs(upgrade: Upgrade) -> list[dict[str, Any]]:
        return presenters.progress(list(upgrade.run_of().values()))

    @staticmethod
    def resolve_known(upgrade: Upgrade) -> int:
        return len(upgrade.steps)


class UpgradeDetail(UpgradeOut):
    steps: list[StepOut] | None = Field(description="The finished steps, each from a release to the next.")

    @staticmethod
    def resolve_steps(upgrade: Upgrade, context: Any) -> list[dict[str, Any]] | None:
        return None if context["request"].GET.get("steps") == "false" else upgrade.steps


STEPS = Query("true", description="false: only the progress, without the steps.")


@router.post("/scenarios/{int:scenario_id}/upgrades", response={202: UpgradeStarted, **REFUSALS})
@permission(write=START, action="start upgrade preview")
def start_upgrade(request: HttpRequest, scenario_id: int, wanted: UpgradeIn) -> Status[Upgrade]:
    """Start one run per release with the same settings, reusing existing runs.

    Then find, for each pair of consecutive releases, the pods whose outcome changes and the behaviour changes that
    cause it.
    """
    with transaction.atomic():
        return Status(202, services.create_upgrade(find(Scenario, scenario_id), wanted.releases, wanted.every))


@router.get("/scenarios/{int:scenario_id}/upgrades", response={200: list[UpgradeOut], **REFUSALS})
def list_upgrades(request: HttpRequest, scenario_id: int) -> QuerySet[Upgrade]:
    """List the upgrade previews of a scenario, newest first."""
    return find(Scenario, scenario_id).upgrades.all()[:100]


@router.get("/upgrades/{int:upgrade_id}", response={200: UpgradeDetail, **REFUSALS}, url_name="upgrade")
def upgrade(request: HttpRequest, upgrade_id: int, steps: Literal["true", "false"] = STEPS) -> Upgrade:
    return find(Upgrade, upgrade_id)


@router.post("/upgrades/{int:upgrade_id}/cancel", response={200: UpgradeOut, **REFUSALS})
@permission(write=OWN, action="cancel")
def cancel_upgrade(request: HttpRequest, upgrade_id: int) -> Upgrade:
    """Cancel the preview, and the runs that only this preview waits for. Finished steps are kept."""
    found = find(Upgrade, upgrade_id)
    services.cancel(found)
    return found


@router.delete("/upgrades/{int:upgrade_id}", response={204: None, **REFUSALS})
@permission(write=OWN, action="delete")
def delete_upgrade(request: HttpRequest, upgrade_id: int) -> Status[None]:
    """Delete the preview. Its runs are kept."""
    find(Upgrade, upgrade_id).delete()
    return Status(204, None)
