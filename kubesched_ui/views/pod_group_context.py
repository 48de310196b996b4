"""Context of pod groups: the list on the run page, the section on a member's page, and the group page."""

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator

from kubesched_ui.models import Cycle, GroupCycle, Run
from kubesched_ui.queries import groups
from kubesched_ui.views.form_fields import to_number
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError

LISTED = 20  # groups per page of the list
MEMBERS_SHOWN = 200


def listed(run: Run, page: str | None) -> dict[str, Any]:
    """Return a page of the run's groups in the order tried; {} if it has none."""
    found = run.group_cycles.order_by("first")
    if not found.exists():
        return {}
    shown = Paginator(found, LISTED).get_page(page)
    return {"groups": [groups.summary(run, group) for group in shown.object_list], "groups_page": shown}


def of_member(run: Run, row: Cycle, trace: CycleTrace, pod: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the section of a member's page; {} for a pod that is in no group cycle."""
    group = groups.group_of(run, row, trace, pod)
    return {"group": shown(run, group, f"{row.namespace}/{row.name}")} if group is not None else {}


def context(run: Run, namespace: str, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the context of group.html, or None if the run did not try the group."""
    group = groups.group_at(run, namespace, name, to_number(query.get("cycle", "")))
    return {"run": run, "group": shown(run, group)} if group is not None else None


def shown(run: Run, group: GroupCycle, current: str = "") -> dict[str, Any]:
    """Return the group as the templates need it. `current`: the member whose page shows it."""
    try:
        detail = groups.detail(run, group)
    except InputError as problem:
        return {"problem": str(problem), "name": group.key}
    heading, _, rest = detail["sentence"].partition(": ")
    return detail | {
        "namespace": group.namespace,
        "own_name": group.name,
        "heading": heading,
        "rest": rest,
        "current": current,
        "shown": detail["members"][:MEMBERS_SHOWN],
        "beyond": max(0, len(detail["members"]) - MEMBERS_SHOWN),
    }
