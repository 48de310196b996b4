"""Collects the scheduler configurations of an upload (separate documents, and texts in ConfigMaps), and chooses one."""

from typing import Any

import msgspec

from kubesched_ui.ingest.errors import IngestError, Where, printable
from kubesched_ui.ingest.formats import Config
from kubesched_ui.ingest.json_values import Json, read_object
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.api.scheduler_config import KIND
from scheduler_core.config.discovery import FoundConfiguration, chosen, configurations_in, passed_over
from scheduler_core.config.discovery import may_hold_bytes as may_hold
from scheduler_core.errors import InputError

__all__ = ["Configs", "may_hold"]

MAX_KEPT = 100


class Configs:
    """The configurations found so far. `max_depth`: maximum nesting of their objects."""

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self._found: list[FoundConfiguration] = []

    def document(self, config: Config) -> None:
        """Add a separate configuration: an object, or (in a Scenario) text."""
        where = config.where.at(kind=KIND)
        if bytes(config.value[:1]) == b'"':
            self._add(FoundConfiguration({"kind": KIND}, text=msgspec.json.decode(config.value)))
        else:
            raw = _without_keys(read_object(config.value, where, self.max_depth))
            self._add(FoundConfiguration(raw, text=to_yaml(raw)))

    def config_map(self, value: Json, where: Where) -> None:
        """Add the configurations in the data of a ConfigMap. Nothing else of it is stored. Raises IngestError for an
        invalid one."""
        obj = read_object(value, where, self.max_depth)
        try:
            for found in configurations_in({**obj, "kind": "ConfigMap"}):
                raw = _without_keys(found.raw)
                self._add(FoundConfiguration(raw, found.place, found.text if raw == found.raw else to_yaml(raw)))
        except InputError as error:
            raise IngestError(where, f"its scheduler configuration is invalid: {on_one_line(str(error))}") from None

    def _add(self, found: FoundConfiguration) -> None:
        if len(self._found) < MAX_KEPT:
            self._found.append(found)

    @property
    def text(self) -> str:
        """The chosen configuration as text; "" if there is none."""
        return printable(chosen(self._found).text, "\n\r\t") if self._found else ""

    @property
    def remark(self) -> str:
        """A message about the source of the configuration and the ones that are ignored; "" if there is nothing to
        report."""
        if not self._found:
            return ""
        found = chosen(self._found)
        parts = [f"The scheduler configuration comes from {found.place}"] if found.place else []
        if len(self._found) > 1:
            parts.append(passed_over(found, self._found))
        return on_one_line("; ".join(parts))


def on_one_line(text: str) -> str:
    """Return uploaded text on one line, shortened."""
    return printable(text[:1000])


def _without_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration without private TLS keys of extenders."""
    extenders = raw.get("extenders")
    return {**raw, "extenders": list(map(_keyless, extenders))} if isinstance(extenders, list) else raw


def _keyless(extender: Any) -> Any:
    tls = extender.get("tlsConfig") if isinstance(extender, dict) else None
    if not isinstance(tls, dict):
        return extender
    return {**extender, "tlsConfig": {key: value for key, value in tls.items() if key != "keyData"}}
