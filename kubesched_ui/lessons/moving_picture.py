"""Moving pictures of a step: moments of the lesson's run that a student goes through with one button.

Each moment has a text and a state of the picture. Both are computed from the records of the run.
"""

from typing import Any

from kubesched_ui.lessons.cache_moments import cache_moments
from kubesched_ui.lessons.cycle_moments import search_moments, spread_moments, victim_moments
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import MovingPicture
from kubesched_ui.lessons.picture_moments import Drawn
from kubesched_ui.lessons.queue_moments import queue_moments
from kubesched_ui.lessons.score_moments import score_moments
from scheduler_core.cluster.formatting import count

MAX_MOMENTS = 40
TITLES = {
    "queue": "The queue",
    "victims": "The victims",
    "scores": "From raw scores to totals",
    "search": "The search for feasible nodes",
    "spread": "The spread and its skew",
    "cache": "API server, cache and snapshot",
    "events": "Events that move pods",
}


def moving_picture(facts: Facts, wanted: MovingPicture, whole: bool) -> dict[str, Any]:
    """Return {kind, title, moments, data} of a picture. Raises Unknown.

    `whole`: whether the result of the cycle in focus may be shown, because no later step of the lesson asks about it.
    """
    moments, data = _drawn(facts, wanted, whole)
    if not 2 <= len(moments) <= MAX_MOMENTS:
        raise Unknown(f"the picture has {count(len(moments), 'moment')}, it must have 2 to {MAX_MOMENTS}")
    data |= {"moments": [moment.state for moment in moments]}
    return {"kind": wanted.shows, "title": TITLES[wanted.shows], "moments": moments, "data": data}


def _drawn(facts: Facts, wanted: MovingPicture, whole: bool) -> Drawn:
    match wanted.shows:
        case "victims":
            return victim_moments(facts, whole)
        case "scores":
            return score_moments(facts, whole)
        case "search":
            return search_moments(facts, wanted)
        case "spread":
            return spread_moments(facts, wanted, whole)
        case "cache":
            return cache_moments(facts, wanted)
        case _:
            return queue_moments(facts, wanted)
