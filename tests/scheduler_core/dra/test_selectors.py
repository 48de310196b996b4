"""Selectors: attributes that an expression can read, and errors of evaluation."""

import resource
import sys

import msgspec
import pytest

from scheduler_core.api.devices import Device
from scheduler_core.dra import memory_limit, selectors
from scheduler_core.dra.selectors import Content, SelectorError, Selectors
from scheduler_core.releases import RELEASES

HOME = 'device.attributes["gpu.example.com"]'
DEVICE = Content(
    "gpu.example.com",
    msgspec.convert(
        {
            "attributes": {
                "model": {"string": "a100"},
                "index": {"int": 2},
                "healthy": {"bool": True},
                "driverVersion": {"version": "1.4.0-rc.2"},
                "other.io/root": {"string": "r"},
            },
            "capacity": {"memory": {"value": "40Gi"}},
        },
        Device,
    ),
)


def answer(expression: str) -> bool | str:
    try:
        return Selectors(RELEASES["1.36"]).matches(expression, DEVICE)
    except SelectorError as error:
        return str(error).partition("\n")[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        (f'{HOME}.model.startsWith("a") && {HOME}.index % 2 == 0', True),
        (f"{HOME}.healthy", True),
        (f"!{HOME}.healthy", False),
        (f'{HOME}["model"] in ["a100", "h100"]', True),
        ('device.attributes["other.io"].root == "r"', True),
        ('"other.io" in device.attributes', True),
        ('"missing.io" in device.attributes', False),
        ('has(device.attributes["missing.io"].model)', False),
        (f"has({HOME}.model)", True),
        (f'{HOME}.?colour.orValue("none") == "none"', True),
        ('device.attributes[?"missing.io"].?model.orValue("none") == "none"', True),
        (f'{HOME}.driverVersion.isGreaterThan(semver("1.3.0"))', True),
        (f'{HOME}.driverVersion.isLessThan(semver("1.4.0"))', True),
        (f'{HOME}.driverVersion.compareTo(semver("1.4.0-rc.10")) < 0', True),
        (f"{HOME}.driverVersion.minor() == 4", True),
        ('semver("v01.2", true).patch() == 0', True),
        ('isSemver("1.2") || isQuantity("1x")', False),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi")) == 0', True),
        ('device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("30Gi").add(quantity("20Gi")))', False),
        ('quantity("1500m").isInteger()', False),
        ('quantity("2k").asInteger() == 2000 && quantity("-1").sign() == -1', True),
        (f'cel.bind(d, {HOME}, d.index == 2 && d.model == "a100")', True),
        ("device.allowMultipleAllocations", False),
        ("has(device.driver) && has(device.capacity)", True),
        (f'{HOME}.model.matches("^[ab]100$") // a comment with ] and "', True),
    ],
)
def test_values(expression: str, expected: bool) -> None:
    assert answer(expression) is expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (f'{HOME}.colour == "red"', "no such key: colour"),
        ('device.attributes["missing.io"].model == "x"', "no such key: model"),
        (f'{HOME}.index.isGreaterThan(semver("1.0.0"))', "no such overload"),
        (f'{HOME}.driverVersion.isGreaterThan(quantity("1"))', "no such overload"),
        ("1 / 0 == 1", "division by zero"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        (f"{HOME}.index", "CEL result of type int could not be converted to bool: type conversion error"),
        ("device.bogus", "compilation failed: ERROR: <input>:1:7: undeclared reference to 'device.bogus'"),
        ("device.driver == 1", "compilation failed: ERROR: <input>:1:15: found no matching overload"),
        ("((", "compilation failed: ERROR"),
        ("[1,2,3,4,5,6,7,8,9,0].all(a, " * 8 + "true" + ")" * 8, "operation cancelled: actual cost limit exceeded"),
        ('"a".replace("", "b" )' + '.replace("b", "' + "c" * 500 + '")' * 6, "too complex, exceeds the cost limit"),
    ],
)
def test_expressions_without_a_value(expression: str, message: str) -> None:
    if "[1,2,3" in expression:
        for name in "abcdefgh":
            expression = expression.replace(".all(a,", f".all(x{name},", 1)
    assert str(answer(expression)).startswith(message)


# 28 levels, each twice as long as the one before, with a comment between the words that the estimate looks for
LEVELS = {
    "join": "[x{0}, x{0}].join('')",
    "plus": "x{0} //\n + x{0}",
    "format": "'%s%s'.//\nformat([x{0}, x{0}])",
    "replace": "x{0}.//\nreplace('a', 'aaaa')",
}


def nested(step: str) -> str:
    begin = "".join(f"cel//\n.//\nbind(x{n + 1}, {step.format(n)}, " for n in range(28))
    return f"cel.bind(x0, 'aaaaaaaaaaaaaaaa', {begin} x28 == ''" + ")" * 29


@pytest.mark.parametrize("step", LEVELS.values(), ids=LEVELS)
def test_comments_do_not_hide_growth(step: str) -> None:
    assert answer(nested(step)) == "too complex, exceeds the cost limit"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_an_evaluation_stops_at_its_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "_growth", lambda expression: 0)
    before = memory_limit.data_size()
    assert answer(nested(LEVELS["plus"])) == "operation cancelled: actual cost limit exceeded"
    assert memory_limit.data_size() - before < 300 << 20
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_an_invalid_version() -> None:
    broken = Content("d", msgspec.convert({"attributes": {"v": {"version": "one"}}}, Device))
    with pytest.raises(SelectorError, match="attribute v: parse semantic version"):
        Selectors(RELEASES["1.35"]).matches("true", broken)
