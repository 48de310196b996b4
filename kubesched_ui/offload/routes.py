"""The URLs that workers answer."""

RUN, API = "runs/<int:run_id>/", "api/runs/<int:run_id>/"
POD, API_POD = RUN + "pods/<str:namespace>/<str:name>/", API + "pods/<namespace>/<name>"

# Searches, replays and requests that decode a whole recording.
ALWAYS = frozenset({
    RUN + "together/",
    RUN + "clip/",
    POD + "why/",
    POD + "trials/",
    POD + "claims/",
    "compare/<int:a>/<int:b>/",
    "compare/<int:a>/<int:b>/chart/",
    API + "find",
    API + "answers",
    API + "remedies",
    API_POD + "/answer",
    API_POD + "/ladder",
    API_POD + "/remedies",
    API_POD + "/provenance",
    API_POD + "/trials",
    API_POD + "/claims",
    "api/compare",
    "api/compare/partners",
    "api/compare/cause",
})  # fmt: skip
# Users write these lessons: a worker of their own pool simulates them and computes their expressions.
LESSON = "lessons/<int:lesson_id>/"
WRITTEN_LESSONS = frozenset({
    LESSON,
    LESSON + "<int:step>/",
    LESSON + "check/",
    LESSON + "hidden-fields/",
    LESSON + "print/",
    "embed/<str:token>/<int:lesson_id>/<int:step>/",
})  # fmt: skip
# The cost of these grows with the size of the run.
OF_LARGE_RUNS = frozenset({
    RUN + "charts/<slug:key>/",
    RUN + "object/",
    RUN + "what-if/",
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
OF_LARGE_RUNS_IN_TIME = frozenset({POD})  # only the recording contains pods that were created during the run
SCENARIO = "scenarios/<int:scenario_id>/"
PAGES_OF_SCENARIOS = frozenset({SCENARIO, SCENARIO + "nodes/", SCENARIO + "pods/"})
CLUSTER = "clusters/<int:cluster_id>/"
# Those of a cluster that replay its history or decode its map
API_CLUSTER = "api/" + CLUSTER
OF_LARGE_CLUSTERS = frozenset({
    CLUSTER + "history/map/",
    API_CLUSTER + "map",
    API_CLUSTER + "changes",
    API_CLUSTER + "pods/<namespace>/<name>/ladder",
})  # fmt: skip
API_SCENARIO = "api/scenarios/<int:scenario_id>/"
OF_LARGE_SCENARIOS = PAGES_OF_SCENARIOS | {
    SCENARIO + "nodes/<str:name>/",
    SCENARIO + "object/Pod/<str:namespace>/<str:name>/why/",
    API_SCENARIO + "map",
    API_SCENARIO + "pods/<namespace>/<name>/ladder",
}
# After one of these, users usually request an expensive page.
BEFORE = frozenset({"runs/", RUN, POD, "api/runs", API.removesuffix("/")})
BEFORE_LESSONS = frozenset({LESSON + "edit/"})
# Streamed responses.
STREAMED = frozenset({API + "export", "api/scenarios/<int:scenario_id>/export"})
# Whole pages, which show a placeholder while they are computed.
PAGES = frozenset({"compare/<int:a>/<int:b>/", POD, *PAGES_OF_SCENARIOS})
PAGES |= {RUN + "nodes/<str:name>/", RUN + "object/", RUN + "present/", RUN + "what-if/"}
