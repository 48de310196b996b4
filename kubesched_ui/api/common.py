"""What the resources of the API share: how text is bounded, how refusals look, how objects are found."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404
from ninja import Field, Schema
from pydantic import StringConstraints

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]  # PostgreSQL stores no NUL
MAX_ID = 2**63 - 1


class Refusal(Schema):
    error: str = Field(description="What is wrong, a sentence naming file, object and field.")


REFUSALS = {400: Refusal, 404: Refusal, 413: Refusal, 422: Refusal}


def find(model: type[Any], pk: int) -> Any:
    """The object, or a 404 that says what there is not."""
    found = model.objects.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404(f"There is no {model.__name__.lower()} {pk}.")
    return found
