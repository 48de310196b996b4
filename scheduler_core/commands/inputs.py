"""Shared input code of the commands: reads the objects of a snapshot and the configuration."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from scheduler_core.api.objects import Node, Pod
from scheduler_core.config import Configuration, UnknownPlugins
from scheduler_core.config.discovery import chosen, configurations_in, passed_over
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare

Load = Callable[..., Configuration]


def configuration_of(raws: list[dict[str, Any]], load: Load) -> Configuration:
    """Return the snapshot's configuration if it is usable, otherwise the default; print which one to standard error."""
    return load(usable_configuration(raws, load))


def usable_configuration(raws: list[dict[str, Any]], load: Load) -> Any:
    """Return the snapshot's configuration before it is loaded; None for the release's default."""
    try:
        everything = [found for raw in raws for found in configurations_in(raw)]
        if not everything:
            return None
        found = chosen(everything)
        load(found.raw)
    except InputError as problem:
        way_out = "; --leave-out-unknown uses it without them" if isinstance(problem, UnknownPlugins) else ""
        print(f"note: the configuration in the snapshot is left out: {problem}{way_out}", file=sys.stderr)
        return None
    print(f"note: the configuration is {found} in the snapshot", file=sys.stderr)
    if len(everything) > 1:
        print(f"note: {passed_over(found, everything)}", file=sys.stderr)
    return found.raw


def prepared(
    path: str, raws: list[dict[str, Any]], release: str, configuration: Configuration, choices: Choices
) -> Prepared:
    """Return the objects of a run. Raises InputError with the name of the file."""
    try:
        found = prepare(raws, release=get_release(release), schedulers=configuration.schedulers, choices=choices)
    except InputError as problem:
        raise InputError(path, "", str(problem)) from None
    if not any(isinstance(obj, Node | Pod) for obj in found.objects):
        raise InputError(path, "", "holds neither nodes nor pods")
    return found


def tell(found: Prepared, warnings: list[str]) -> None:
    """Print remarks and warnings to standard error."""
    for remark in found.remarks:
        print(f"note: {remark.message}", file=sys.stderr)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def read_config(path: str) -> bytes:
    """Return the content of a configuration file. Raises InputError."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as problem:
        raise InputError(path, "", f"cannot be read: {problem.strerror}") from None
