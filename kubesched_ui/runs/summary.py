"""Short texts on how a run's settings differ from the defaults, for lists of runs."""

from dataclasses import asdict
from typing import Any

from kubesched_ui.runs import pod_template
from kubesched_ui.runs.config_summary import DEFAULT, config_summary
from scheduler_core.api.duration import span
from scheduler_core.cluster.formatting import count
from scheduler_core.config import Unknown
from scheduler_core.releases import get_release

# Settings that have a separate text, or none, if they differ from their default.
OTHERWISE = {"release", "config", "in_time", "until", "pods", "unbind", "template", "copies", "unknown_plugins"}
WORDS = {
    "seed": lambda seed: f"seed {seed}",
    "tie_break": lambda how: f"ties by {how}",
    "preemption": lambda may: "" if may else "no preemption",
    "percentage": lambda percent: f"{percent}% of nodes",
    "other_schedulers": lambda how: "includes pods of other schedulers",
    "absent_claims": lambda how: "missing claims bound",
}


def differences(settings: Any, default: Any) -> list[str]:
    """Describe the differences between two RunSettings: `MostAllocated`, `seed 7`, `virtual time until 10 min` ... A
    setting without its own text is described by its name."""
    values, usual = asdict(settings), asdict(default)
    texts = which_pods(values)
    if values["in_time"] and values["until"]:
        texts.append(f"virtual time until {span(values['until'])}")
    gates = sorted(get_release(values["release"]).feature_gates.items())
    texts += [f"{name} {'on' if on else 'off'}" for name, on in gates]
    texts += configuration(values)
    for name, value in values.items():
        if name not in OTHERWISE and value != usual[name]:
            words = WORDS.get(name, lambda value, name=name: f"{name.replace('_', ' ')}: {value}")
            texts.append(words(value))
    return [" ".join(text.split()) for text in texts if text]


def which_pods(values: dict[str, Any]) -> list[str]:
    """Describe the chosen pods; [] for all pending ones."""
    texts = []
    if values["template"]:
        obj, copies = pod_template.read(values["template"]), values["copies"]
        what = f"{copies:,} {'copy' if copies == 1 else 'copies'} of" if obj["kind"] == "Pod" else obj["kind"]
        texts.append(f"{what} {obj['metadata']['name'][:60]}")
    if values["pods"]:
        texts.append(f"{count(len(values['pods']), 'pod')} chosen")
    if values["unbind"]:
        texts.append(f"{count(len(values['unbind']), 'pod')} rescheduled")
    return texts


def configuration(values: dict[str, Any]) -> list[str]:
    """Describe the changes in the scheduler configuration."""
    unknown: Unknown = values["unknown_plugins"]
    text = config_summary(values["config"] or "", values["release"], unknown)
    text = "own configuration, as default" if text == DEFAULT else text
    return [text, "unknown plugins ignored" if text and unknown == "leave_out" else ""]
