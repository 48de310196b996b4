"""What a message of FailedScheduling says, without its cluster (docs/answers.md)."""

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from kubesched_ui.accounts.permissions import USERS, permission
from kubesched_ui.api.common import REFUSALS, Described, encoded
from scheduler_core.messages.reader import MAX_CHARACTERS, MessageReport, explain_text

router = Router(tags=["messages"])


class MessageTextIn(Schema):
    text: str = Field(
        max_length=MAX_CHARACTERS,
        description="A message, or the output of kubectl describe pod or kubectl get events.",
    )


@router.post("/messages", response={200: Described[MessageReport], **REFUSALS})
@permission(read=USERS, write=USERS)
def explain_messages(request: HttpRequest, given: MessageTextIn) -> HttpResponse:
    """Explain the messages of FailedScheduling in a text. Nothing is stored."""
    return encoded(explain_text(given.text))
