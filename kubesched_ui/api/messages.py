"""What a message of FailedScheduling says, without its cluster (docs/answers.md)."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from kubesched_ui.accounts.permissions import USERS, permission
from kubesched_ui.api.common import REFUSALS, encoded
from scheduler_core.messages.reader import MAX_CHARACTERS, explain_text

router = Router(tags=["messages"])


class MessageTextIn(Schema):
    text: str = Field(
        max_length=MAX_CHARACTERS,
        description="A message, or the output of kubectl describe pod or kubectl get events.",
    )


class MessageReasonOut(Schema):
    """A reason. `meaning` and `known` are left out if an earlier reason has the same meaning, and if it is known."""

    model_config = {"extra": "allow"}

    count: int = Field(description="Number of nodes; 0: the message has no count, the reason is for all nodes.")
    reason: str
    plugin: str = Field(description="The plugin that gives it; empty if unknown.")
    kind: str = Field(description="A kind of docs/answers.md.")
    text: str
    meaning: str = ""
    known: bool = Field(True, description="Whether an in-tree plugin uses this text.")


class WordingOut(Schema):
    wording: str
    since: str
    until: str


class MessageReleasesOut(Schema):
    since: str = Field(description="First release with all wordings; empty if no release has all of them.")
    until: str
    sentence: str
    evidence: list[WordingOut] = Field([], description="The wordings that only some releases have.")


class MessagePreemptionOut(Schema):
    sentence: str
    reasons: list[MessageReasonOut] = []


class MessageCommandOut(Schema):
    command: str
    shows: str


class MessageOut(Schema):
    """A message. Fields that are empty are left out."""

    model_config = {"extra": "allow"}

    message: str
    pods: list[str] = Field(description="Pods with this message, as far as the text names them.")
    nodes: int = Field(description="Number of nodes of the cluster; 0 if the message has none.")
    sentence: str
    reasons: list[MessageReasonOut]
    releases: MessageReleasesOut
    counted: str = Field("", description="Why the counts do not add up to the number of nodes.")
    preemption: MessagePreemptionOut | None = None
    commands: list[MessageCommandOut] = Field([], description="What to ask kubectl next; they only read.")
    snapshot: list[str] = Field([], description="What only a snapshot of the cluster answers.")


class MessageReportOut(Schema):
    """The messages in a text."""

    messages: list[MessageOut]
    remarks: list[str] = Field([], description="What was left out.")


@router.post("/messages", response={200: MessageReportOut, **REFUSALS})
@permission(read=USERS, write=USERS)
def explain_messages(request: HttpRequest, given: MessageTextIn) -> HttpResponse:
    """Explain the messages of FailedScheduling in a text. Nothing is stored."""
    report: Any = explain_text(given.text)
    return encoded(report)
