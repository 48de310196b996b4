"""Selectors: CEL expressions over a device, evaluated once for each expression and distinct device.

`device.attributes["domain"]` and `device.capacity["domain"]` return an empty map for an unknown domain. Therefore they
are replaced by function calls before an expression is compiled. `in`, `has` and macros see only existing domains.
Source: staging/src/k8s.io/dynamic-resource-allocation/cel (compile.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_core.api.devices import MAX_VALUE, BasicDevice, DeviceAttribute
from scheduler_core.dra import cel_library
from scheduler_core.dra.memory_limit import at_most
from scheduler_core.releases.release import Release

KEPT = 1000  # maximum number of cached compiled expressions
TOO_COSTLY = "operation cancelled: actual cost limit exceeded"
_FIELDS = {"attributes": "__attributes", "capacity": "__capacity"}
_TOKEN = re.compile(
    r"""//[^\n]*
    |   [bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"]*"|'[^']*')
    |   (?P<quote>\"{3}|'{3}|"|')(?:\\.|(?!(?P=quote)).)*(?P=quote)
    |   (?<![\w.])has\s*\(\s*device\s*\.\s*(?P<has>driver|attributes|capacity)\s*\)
    |   (?<![\w.])device\s*\.\s*(?P<field>attributes|capacity)\s*\[(?P<optional>\s*\?)?
    |   (?P<open>[\[({])
    |   (?P<close>[\])}])""",
    re.S | re.X,
)
_MISSING = re.compile(r"Key not found in map : (.*)", re.S)
_OVERLOAD = re.compile(r"No matching overloads found : .*", re.S)
_MEMORY = 64 << 20  # maximum size in bytes to which a text may grow
_HEADROOM = 2 * _MEMORY  # bytes that one evaluation may take, whatever `_growth` expects
_GROWING = re.compile(
    r"(?P<replace>\.\s*replace\s*\()|(?P<bind>\bcel\s*\.\s*bind\s*\()|(?P<build>\.\s*(?:join|format)\s*\()|(?P<plus>\+)"
    r"|(?P<comma>,)"
)
_HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)
_CODES = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")


class SelectorError(Exception):
    """An expression cannot be compiled (`compiling`), or cannot be evaluated for a device."""

    def __init__(self, problem: str, compiling: bool = False) -> None:
        super().__init__(problem)
        self.compiling = compiling


def split_name(name: str, driver: str) -> tuple[str, str]:
    """Return (domain, identifier) of an attribute or capacity. The default domain is the driver's."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _value(attribute: DeviceAttribute) -> Any:
    for plain in (attribute.int_, attribute.bool_, attribute.string):
        if plain is not None:
            return plain
    return cel_library.make_version(attribute.version or "")


class Content:
    """The fields of a device that selectors can use. `problem`: why no selector can be evaluated."""

    __slots__ = ("attributes", "capacity", "driver", "multiple", "problem")

    def __init__(self, driver: str, device: BasicDevice) -> None:
        self.driver = driver
        self.attributes: dict[str, dict[str, Any]] = {}
        self.capacity: dict[str, dict[str, Any]] = {}
        self.multiple = bool(device.allow_multiple_allocations)
        self.problem = ""
        for name, attribute in device.attributes.items():
            domain, identifier = split_name(name, driver)
            try:
                self.attributes.setdefault(domain, {})[identifier] = _value(attribute)
            except ValueError as error:
                self.problem = self.problem or f"attribute {name}: {error}"
        for name, capacity in device.capacity.items():
            domain, identifier = split_name(name, driver)
            self.capacity.setdefault(domain, {})[identifier] = cel_library.make_quantity(capacity.value)


class Selectors:
    """All expressions used so far, with their results."""

    def __init__(self, release: Release) -> None:
        self._multiple = release.consumable_capacity  # expressions may use `device.allowMultipleAllocations`
        self._names_device = release.selector_errors_name_device
        self._programs: dict[str, Any] = {}  # expression -> its program, or a SelectorError
        self._answers: dict[tuple[str, int], bool | SelectorError] = {}  # by expression and content
        self._content: Content | None = None
        self._environment: Any = None

    def describe(self, error: SelectorError, device: Sequence[str]) -> str:
        """Return what follows the number of the selector in a message about this device (driver, pool, name)."""
        if error.compiling or not self._names_device:
            return f": CEL {'compile' if error.compiling else 'runtime'} error: {error}"
        hint = f". {_HINT}" if "no such key:" in str(error) else ""
        return f" on device {'/'.join(device)}: CEL runtime error: {error}{hint}"

    def forget(self) -> None:
        """Discard the results, because their contents no longer exist."""
        self._answers.clear()

    def matches(self, expression: str, content: Content) -> bool:
        """Return whether the device is selected. `content` must exist until `forget`. Raises SelectorError."""
        key = (expression, id(content))
        answer = self._answers.get(key)
        if answer is None:
            try:
                answer = self._evaluate(expression, content)
            except SelectorError as error:
                answer = error
            self._answers[key] = answer
        if isinstance(answer, SelectorError):
            raise SelectorError(str(answer), answer.compiling)
        return answer

    def _evaluate(self, expression: str, content: Content) -> bool:
        program = self._programs.get(expression)
        if program is None:
            if len(self._programs) >= KEPT:
                self._programs.clear()
            try:
                program = self._compile(expression)
            except SelectorError as error:
                program = error
            self._programs[expression] = program
        if isinstance(program, SelectorError):
            raise SelectorError(str(program), program.compiling)
        if content.problem:
            raise SelectorError(content.problem)
        self._content = content
        data: dict[str, Any] = {
            "device.driver": content.driver,
            "device.attributes": content.attributes,
            "device.capacity": content.capacity,
        }
        if self._multiple:
            data["device.allowMultipleAllocations"] = content.multiple
        try:
            with at_most(_HEADROOM):
                answer = program.eval(data=data)
                value, kind = answer.plain_value(), answer.type().name()
        except MemoryError:
            raise SelectorError(TOO_COSTLY) from None
        except RuntimeError as problem:
            raise SelectorError(_message(str(problem))) from None
        if value is True or value is False:
            return bool(value)
        if kind == "ERROR":
            raise SelectorError(_message(str(value)))
        raise SelectorError(f"CEL result of type {kind.lower()} could not be converted to bool: type conversion error")

    def _compile(self, expression: str) -> Any:
        from cel_expr_python import cel

        if _growth(expression) > _MEMORY:
            raise SelectorError("too complex, exceeds the cost limit", compiling=True)
        if self._environment is None:
            self._environment = self._make_environment()
        try:
            with at_most(_HEADROOM):
                program = self._environment.compile("".join(_rewritten(expression)))
        except MemoryError:
            raise SelectorError("too complex, exceeds the cost limit", compiling=True) from None
        except (RuntimeError, ValueError) as problem:
            text = _CODES.sub("", str(problem).strip())
            for field, name in _FIELDS.items():
                text = text.replace(name, f"device.{field}")
            raise SelectorError(f"compilation failed: {text[:1000]}", compiling=True) from None
        kind = program.return_type()
        if kind not in (cel.Type.BOOL, cel.Type.DYN):
            text = f"must evaluate to bool or the unknown type, not {kind.name().lower()}"
            raise SelectorError(text, compiling=True)
        return program

    def _make_environment(self) -> Any:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

        kind = cel.Type
        anything = kind.Map(kind.STRING, kind.DYN)
        amounts = kind.Map(kind.STRING, kind.Map(kind.STRING, kind.STRING))

        def of_domain(name: str, result: Any, field: str) -> Any:
            def found(domain: str) -> dict[str, Any]:
                inside: dict[str, dict[str, Any]] = getattr(self._content, field)
                return inside.get(domain, {})

            return cel.FunctionDecl(name, [cel.Overload(f"{name}_string", result, [kind.STRING], False, found)])

        variables = {
            "device.driver": kind.STRING,
            "device.attributes": kind.Map(kind.STRING, anything),
            "device.capacity": kind.Map(kind.STRING, amounts),
        }
        if self._multiple:
            variables["device.allowMultipleAllocations"] = kind.BOOL
        return cel.NewEnv(
            variables=variables,
            extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_strings.ExtStrings()],
            functions=[
                *cel_library.functions(),
                of_domain("__attributes", anything, "attributes"),
                of_domain("__capacity", amounts, "capacity"),
            ],
        )


def _rewritten(expression: str) -> Iterator[str]:
    """Yield the parts of the expression, with lookups of a domain replaced by calls, and `has` of existing fields by
    `true`."""
    end = 0
    closing: list[str] = []  # replacement of each closing bracket; "" keeps it
    for token in _TOKEN.finditer(expression):
        yield expression[end : token.start()]
        end = token.end()
        if token["has"]:
            yield "true"
        elif token["field"]:
            call = f"{_FIELDS[token['field']]}("
            yield f"optional.of({call}" if token["optional"] else call
            closing.append("))" if token["optional"] else ")")
        elif token["open"]:
            closing.append("")
            yield token[0]
        elif token["close"]:
            yield (closing.pop() if closing else "") or token[0]
        else:
            yield token[0]
    yield expression[end:]


def _growth(expression: str) -> int:
    """Return the maximum size of a text in the expression: the binding limits evaluation steps, but not memory.

    Upstream's API server estimates the cost of an expression before it accepts it.
    """
    tokens = [token[0] for token in _TOKEN.finditer(expression)]
    literals = [len(text) for text in tokens if text[-1] in "\"'" and not text.startswith("//")]
    longest = max([MAX_VALUE, *literals])
    # Comments may separate any two words.
    plain = _TOKEN.sub(lambda token: " " if token[0][:2] == "//" or token[0][-1] in "\"'" else token[0], expression)
    found = [match.lastgroup for match in _GROWING.finditer(plain)]
    replaced, bound, added = found.count("replace"), found.count("bind"), found.count("plus")
    if built := found.count("build"):  # join and format put together the parts that commas separate
        added += built + found.count("comma")
    return int(longest * min(longest, 1 << 20) ** min(replaced, 16) * (added + 1) ** min(bound + 1, 32))


def _message(text: str) -> str:
    """Return the CEL error message of a failed evaluation, worded as in the Go implementation."""
    text = _CODES.sub("", text.strip()).strip()
    missing = _MISSING.fullmatch(text)
    if missing:
        return f"no such key: {missing[1].strip().strip(chr(34))}"
    if _OVERLOAD.fullmatch(text):
        return "no such overload"
    if "Iteration budget" in text or "recursion" in text.lower():
        return TOO_COSTLY
    return text.replace("divide by zero", "division by zero")[:1000]
