"""Shared code of the API resources: text limits, error responses and object lookup."""

from inspect import cleandoc
from typing import Annotated, Any, TypeVar

import msgspec
from django.db.models import Model
from django.http import Http404, HttpResponse
from ninja import Field, Query, Schema
from pydantic import BeforeValidator, StrictBool, StringConstraints
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

M = TypeVar("M", bound=Model)
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]  # PostgreSQL cannot store NUL


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise PydanticCustomError("number", "Input should be a number")
    return value


# In a JSON body, true is not accepted as 1 and "5" not as a number, as the schema says; query parameters are always
# text. Bounds go before it, as in Annotated[int, Field(ge=0), NUMBER]; after it, they would be missing from the
# schema.
NUMBER = BeforeValidator(_number)
Flag = StrictBool
MAX_ID = 2**63 - 1

LIMIT = Query(100, ge=1, le=1000, description="Maximum number of entries.")
OFFSET = Query(0, ge=0, le=MAX_ID // 2, description="Number of newest entries to skip.")


class Refusal(Schema):
    error: str = Field(description="A sentence about the problem, with file, object and field.")


REFUSALS = {400: Refusal, 404: Refusal, 413: Refusal, 422: Refusal, 503: Refusal}
RECORDED = {**REFUSALS, 409: Refusal}  # responses of queries on a recording


def sent_as(*kinds: str) -> dict[str, Any]:
    """Return the OpenAPI description of a response that is a file with one of these content types."""
    file = {"type": "string", "format": "binary"}
    content = {kind: {"schema": {} if kind == "application/json" else file} for kind in kinds}
    return {"responses": {200: {"description": "The file.", "content": content}}}


def find(model: type[M], pk: int) -> M:
    """Return the object. Raises Http404, which names the missing object."""
    found: M | None = model._default_manager.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404(f"There is no {model.__name__.lower()} {pk}.")
    return found


def encoded(answer: Any) -> HttpResponse:
    """Return the answer as JSON without validating it against its schema."""
    return HttpResponse(msgspec.json.encode(answer), content_type="application/json")


def with_former_names(answer: Any, **former: str) -> Any:
    """Return a JSON value in which each key of `former` also has its name of version 1.0. Version 1.2 will not."""
    if isinstance(answer, list):
        return [with_former_names(one, **former) for one in answer]
    if not isinstance(answer, dict):
        return answer
    made = {key: with_former_names(one, **former) for key, one in answer.items()}
    return made | {old: made[key] for key, old in former.items() if key in made}


def _schema_of(struct: Any) -> dict[str, Any]:
    """Return the JSON schema of a struct, without references."""
    (found,), parts = msgspec.json.schema_components([struct], ref_template="{name}")

    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(inner) for inner in part]
        if not isinstance(part, dict):
            return cleandoc(part) if isinstance(part, str) else part
        return whole(parts[part["$ref"]]) if "$ref" in part else {name: whole(inner) for name, inner in part.items()}

    schema: dict[str, Any] = whole(found)
    return schema


class _OfStruct:
    def __get_pydantic_core_schema__(self, struct: Any, handler: Any) -> CoreSchema:
        return core_schema.any_schema(metadata={"pydantic_js_functions": [lambda *_: _schema_of(struct)]})


T = TypeVar("T")
Described = Annotated[T, _OfStruct()]
"""A struct of the core in a schema: its fields and docstring document a response that is encoded directly."""
