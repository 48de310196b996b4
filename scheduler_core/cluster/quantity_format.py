"""Amounts as a person says them."""

from decimal import ROUND_DOWN, ROUND_UP, Decimal

from scheduler_core.cluster import resources

_BINARY = (("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def amount(resource: str, number: int, rounding: str = ROUND_UP) -> str:
    """An amount with its unit, rounded up: `250m` and `1.5` of cpu, `1.5Gi` of memory, else the number."""
    if not number:
        return "0"
    if resource == resources.CPU:
        return f"{number}m" if abs(number) < 1000 else _decimal(Decimal(number) / 1000, rounding)
    if resource in (resources.MEMORY, resources.EPHEMERAL) or resource.startswith("hugepages-"):
        for unit, bits in _BINARY:
            if abs(number) >= 1 << bits:
                return _decimal(Decimal(number) / (1 << bits), rounding) + unit
        return f"{number}B"
    return f"{number:,}"


def free_amount(resource: str, number: int) -> str:
    """The same rounded down, for what there is."""
    return amount(resource, number, ROUND_DOWN)


def balance(resource: str, asks: int, free: int, of: int) -> str:
    """What is asked for against what there is: `asks 4, 2.5 of 8 free`. What is free is rounded
    down, so that it never looks like enough."""
    has = free_amount(resource, of)
    if free < 0:
        return f"asks {amount(resource, asks)}, the node's {has} overcommitted by {amount(resource, -free)}"
    return f"asks {amount(resource, asks)}, {free_amount(resource, free)} of {has} free"


def exact(resource: str, number: int) -> str:
    """The same with cpu to the millicore: `3,480m`."""
    return f"{number:,}m" if resource == resources.CPU else amount(resource, number)


def _decimal(number: Decimal, rounding: str) -> str:
    text = f"{number.quantize(Decimal('0.01'), rounding):f}"
    return text.rstrip("0").rstrip(".")
