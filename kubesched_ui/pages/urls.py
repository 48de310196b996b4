"""Addresses of the pages. Every view of a recording has one that can be shared."""

from django.urls import path

from kubesched_ui.pages import compare, home, lists, runs, scenarios, upgrades

urlpatterns = [
    path("", home.home, name="home"),
    path("upload/", home.upload, name="upload"),
    path("upload/<str:token>/", home.upload_progress, name="upload-progress"),
    path("scenarios/", lists.scenarios, name="scenarios"),
    path("scenarios/<int:scenario_id>/", scenarios.scenario, name="scenario"),
    path("scenarios/<int:scenario_id>/nodes/", scenarios.nodes, name="scenario-nodes"),
    path("scenarios/<int:scenario_id>/pods/", scenarios.pods, name="scenario-pods"),
    path("scenarios/<int:scenario_id>/objects/", scenarios.objects, name="scenario-objects"),
    path("scenarios/<int:scenario_id>/objects/<int:object_id>/", scenarios.edit, name="object"),
    path("scenarios/<int:scenario_id>/object/<str:kind>/<str:name>/", scenarios.object_named, name="object-named"),
    path(
        "scenarios/<int:scenario_id>/object/<str:kind>/<str:namespace>/<str:name>/",
        scenarios.object_named,
        name="object-named",
    ),
    path("scenarios/<int:scenario_id>/run/", runs.start, name="start"),
    path("scenarios/<int:scenario_id>/rename/", scenarios.rename, name="scenario-rename"),
    path("scenarios/<int:scenario_id>/delete/", scenarios.delete, name="scenario-delete"),
    path("runs/", lists.runs, name="runs"),
    path("runs/<int:run_id>/", runs.run, name="run"),
    path("runs/<int:run_id>/fork/", compare.fork, name="fork"),
    path("scenarios/<int:scenario_id>/pair/", compare.pair, name="pair"),
    path("scenarios/<int:scenario_id>/upgrade/", upgrades.start, name="upgrade-start"),
    path("upgrades/<int:number>/", upgrades.upgrade, name="upgrade"),
    path("upgrades/<int:number>/cancel/", upgrades.cancel, name="upgrade-cancel"),
    path("upgrades/<int:number>/delete/", upgrades.delete, name="upgrade-delete"),
    path("compare/", compare.choose, name="compare-chosen"),
    path("compare/<int:a>/<int:b>/", compare.compare, name="compare"),
    path("runs/<int:run_id>/together/", runs.together, name="together"),
    path("runs/<int:run_id>/heat/", runs.heat, name="run-heat"),
    path("runs/<int:run_id>/export/", runs.export, name="run-export"),
    path("runs/<int:run_id>/cancel/", runs.cancel, name="cancel"),
    path("runs/<int:run_id>/rename/", runs.rename, name="run-rename"),
    path("runs/<int:run_id>/delete/", runs.delete, name="run-delete"),
    path("runs/<int:run_id>/pods/<str:namespace>/<str:name>/", runs.pod, name="pod"),
    path("runs/<int:run_id>/pods/<str:namespace>/<str:name>/why/", runs.explanation, name="why"),
    path("runs/<int:run_id>/pods/<str:namespace>/<str:name>/trials/", runs.trials, name="trials"),
    path("runs/<int:run_id>/pods/<str:namespace>/<str:name>/claims/", runs.claims, name="claims"),
    path("runs/<int:run_id>/cycles/<int:number>/", runs.cycle, name="cycle"),
    path("runs/<int:run_id>/object/", runs.object_then, name="run-object"),
    path("runs/<int:run_id>/nodes/<str:name>/", runs.node, name="node"),
]
