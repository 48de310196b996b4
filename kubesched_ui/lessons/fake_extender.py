"""A fake HTTP extender for a lesson: a local web server that runs only while the lesson's run is simulated.

It replaces the extender that the lesson's configuration names (`Extenders`, proxy), so requests and responses are
real. Uploaded configurations cannot reach it: only the product's own lesson files use it.
"""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from kubesched_ui.lessons.parser import Answers
from scheduler_core.commands.extender_server import serve_json

MOST_BYTES = 1_000_000


class Exchange(NamedTuple):
    """A request of the scheduler and the response. `verb`: filter or prioritize; `sent`: node names."""

    verb: str
    pod: str
    sent: list[str]
    answered: Any


def answer_to(answers: Answers, verb: str, request: dict[str, Any]) -> Exchange:
    """Return the response of the extender: an ExtenderFilterResult or HostPriorityList of
    k8s.io/kube-scheduler/extender/v1."""
    names = [item["metadata"]["name"] for item in (request.get("Nodes") or {}).get("items", [])]
    names = names or list(request.get("NodeNames") or ())
    pod = request["Pod"]["metadata"]["name"]
    if verb == "filter":
        failed = {name: answers.refuses[name] for name in names if name in answers.refuses}
        kept = [name for name in names if name not in failed]
        items = [{"metadata": {"name": name}} for name in kept]
        return Exchange(verb, pod, names, {"nodes": {"items": items}, "failedNodes": failed})
    scores = [{"host": name, "score": answers.points.get(name, 0)} for name in names]
    return Exchange(verb, pod, names, scores)


def answering(answers: Answers, exchanges: list[Exchange]) -> AbstractContextManager[str]:
    """Run the server inside the `with` and yield its URL. Exchanges are appended to `exchanges`."""

    def answer(path: str, request: Any) -> tuple[int, Any]:
        exchanges.append(answer_to(answers, path.rpartition("/")[2], request))
        return 200, exchanges[-1].answered

    return serve_json(answer, MOST_BYTES)
