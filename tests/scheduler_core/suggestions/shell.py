"""Runs commands of suggested fixes on objects in memory, read as a POSIX shell reads them and without processes.

Independent of `scheduler_core.suggestions`. Tests compare a sample with bash and a real kubectl.
"""

from __future__ import annotations

import copy
import json
import re
import shlex
from typing import Any

from tests.api_server.patches import PATCHES
from tests.scheduler_core.explain.planted.kubectl_on_file import run, split

Raw = dict[str, Any]
_PLAIN = re.compile(r"[\w@%+=:,./ |&<-]*")
"""A command without its quoted parts: nothing that a shell expands, and no operator that is not read here."""
_QUOTED = re.compile(r"'[^']*'|\"'\"")


def applied(command: str, objects: list[Raw]) -> list[Raw]:
    """Return the objects after the command. Raises AssertionError if a shell or kubectl would refuse it."""
    now = copy.deepcopy(objects)
    line, _, document = command.partition("\n")
    if document:
        line, separator, word = line.rpartition(" <<'EOF'")
        assert (separator, word) == (" <<'EOF'", ""), command
        document, end, rest = document.partition("\nEOF")
        assert (end, rest) == ("\nEOF", ""), command
    assert _PLAIN.fullmatch(_QUOTED.sub("", line)), command
    for number, pipeline in enumerate(_split(_words(line), "&&")):
        printed = document if number == 0 else ""
        for arguments in _split(pipeline, "|"):
            assert arguments[0] == "kubectl", command
            printed = run(arguments[1:], now, printed, _local)
    return now


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&<")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _split(words: list[str], operator: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word == operator:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _local(objects: list[Raw], arguments: list[str]) -> list[Raw]:
    """Return the objects after `kubectl patch` or `kubectl label`."""
    verb, *rest = arguments
    names, flags = split(rest)
    found = []
    for obj in objects:
        if verb == "patch":
            types = {"strategic": "strategic-merge-patch", "merge": "merge-patch", "json": "json-patch"}
            patch = PATCHES[f"application/{types[flags['--type']]}+json"]
            found.append(patch(obj, json.loads(flags["-p"])))
            continue
        labels = dict(obj["metadata"].get("labels") or {})
        for change in names:
            key, _, value = change.partition("=")
            if change.endswith("-") and "=" not in change:
                labels.pop(change[:-1], None)
            else:
                assert "--overwrite" in flags or labels.get(key, value) == value, f"overwrites label {key}"
                labels[key] = value
        found.append({**obj, "metadata": {**obj["metadata"], "labels": labels}})
    return found
