"""The addresses that workers answer."""

from __future__ import annotations

RUN, API = "runs/<int:run_id>/", "api/runs/<int:run_id>/"
POD, API_POD = RUN + "pods/<str:namespace>/<str:name>/", API + "pods/<namespace>/<name>"

# What searches, plays a run again or decodes a whole recording.
ALWAYS = frozenset({
    RUN + "together/",
    POD + "why/",
    POD + "trials/",
    POD + "claims/",
    "compare/<int:a>/<int:b>/",
    API + "find",
    API + "remedies",
    API_POD + "/remedies",
    API_POD + "/provenance",
    API_POD + "/trials",
    API_POD + "/claims",
    "api/compare",
    "api/compare/partners",
    "api/compare/cause",
})  # fmt: skip
# What costs as much as the run is large.
OF_LARGE_RUNS = frozenset({
    RUN + "heat/",
    RUN + "object/",
    RUN + "present/",
    RUN + "nodes/<str:name>/",
    API + "state",
    API + "map",
    API + "map/tape",
    API + "object",
    API + "lanes",
    API + "lanes/overview",
    API + "lanes/stretch",
    API + "moment",
    API_POD + "/history",
})  # fmt: skip
LARGE = 5_000  # cycles of a run, pods of a scenario
OF_LARGE_RUNS_IN_TIME = frozenset({POD})  # pods that came later are known from the recording alone
SCENARIO = "scenarios/<int:scenario_id>/"
OF_LARGE_SCENARIOS = frozenset({SCENARIO, SCENARIO + "nodes/", SCENARIO + "pods/"})
# Who looks at these asks more, soon.
BEFORE = frozenset({"runs/", RUN, POD, "api/runs", API.removesuffix("/")})
# What is sent piece by piece.
STREAMED = frozenset({API + "export", "api/scenarios/<int:scenario_id>/export"})
# Whole pages: who has to wait is told so.
PAGES = frozenset({"compare/<int:a>/<int:b>/", POD, *OF_LARGE_SCENARIOS})
PAGES |= {RUN + "nodes/<str:name>/", RUN + "object/", RUN + "present/"}
