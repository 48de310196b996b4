"""Base class and checks of plugin arguments, with upstream's defaults and validation.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types_pluginargs.go, pkg/scheduler/apis/config/v1/defaults.go
and pkg/scheduler/apis/config/validation/validation_pluginargs.go.

A class holds the values of the file. `finish(complain)` applies the defaults that depend on values, then validates.
`complain(field, problem)` raises InputError with the place filled in.
"""

import re
from collections.abc import Callable
from typing import Annotated, ClassVar, NoReturn, Self

import msgspec
from msgspec import Meta

from scheduler_core.api.syntax import qualified_name_problem, shown
from scheduler_core.errors import InputError

Complain = Callable[[str, str], NoReturn]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """camelCase in the file, snake_case here. An unknown field is an error, as in upstream's strict decoding."""


class PluginArgs(Strict, frozen=True, kw_only=True):
    """Base class of all arguments. A plugin names its own class as `args_class`.

    `not_in`: API version -> the fields that it does not have yet. `since`: field -> the first release that reads it,
    if all older releases with the plugin refuse it. `needs`: field -> the behaviour of a release, of a feature gate,
    that must be on. `nested_types`: field -> the type of a value
    that is validated but not decoded.
    """

    not_in: ClassVar[dict[str, tuple[str, ...]]] = {}
    since: ClassVar[dict[str, str]] = {}
    needs: ClassVar[dict[str, str]] = {}
    nested_types: ClassVar[dict[str, type]] = {}

    def finish(self, complain: Complain) -> Self:
        """Return these arguments with the defaults applied. Calls `complain` for invalid ones."""
        return self


class ResourceSpec(Strict, frozen=True, kw_only=True):
    """A resource and its weight in a score."""

    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(Strict, frozen=True, kw_only=True):
    """A point of a scoring function: utilization 0..100 (percent), score 0..10."""

    utilization: Int32 = 0
    score: Int32 = 0


def check_range(complain: Complain, field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        complain(field, f"must be in {low}..{high}, got {value}")


def check_choice(complain: Complain, field: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        complain(field, f"must be one of {', '.join(choices)}, got {shown(value)}")


def check_qualified_name(complain: Complain, field: str, name: str) -> None:
    if problem := qualified_name_problem(name):
        complain(field, f"{problem}, got {shown(name)}")


def complain_at(where: str, prefix: str = "") -> Complain:
    """Return a function that raises InputError for a field below `prefix`."""

    def complain(field: str, problem: str) -> NoReturn:
        raise InputError(where, f"{prefix}{field}", problem)

    return complain


_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "a mapping",
    "str": "a text",
}


def convert_problem(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return (problem, path) of a msgspec message such as "Expected `int`, got `str` - at `$.profiles[0].weight`"."""
    problem, _, path = str(error).partition(" - at `")
    problem = problem.replace("Object contains unknown field", "unknown field").replace("Expected", "must be")
    problem = re.sub(r"`(\w+)(?: \| null)?`", lambda match: _KINDS.get(match[1], match[1]), problem)
    return problem.replace("`", "")[:200], path.rstrip("`").removeprefix("$").removeprefix(".")
