"""Writes YAML that this project, kubectl and PyYAML read as the same values."""

from typing import Any

import yaml

from kubesched_ui.ingest.yaml_reader import plain


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text and all(c.isprintable() or c == "\n" for c in text) else None
    if style is None and _reads_as_other(text):
        style = "'"  # PyYAML does not quote y, n, 0o10 and 1e3, which Kubernetes does not read as text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _reads_as_other(text: str) -> bool:
    try:
        return plain(text) != text
    except ValueError:
        return True


_Dumper.add_representer(str, _text)


def to_yaml(value: Any, flow: bool = False) -> str:
    """Return `value` (JSON types) as YAML, members in their order, in block style. With `flow`: in flow style, 120
    columns wide."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=flow)
