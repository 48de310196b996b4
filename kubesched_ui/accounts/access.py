"""All rules about who may see which object and what they may do with it. docs/accounts.md describes them.

The managers of the models apply `Viewer.visible` while there is a current viewer (current_viewer.py), so every list,
count, search and related row is filtered. accounts/middleware.py calls `has_permission` for every URL, by its
permission (permissions.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from kubesched_ui.accounts.models import Share
from kubesched_ui.models import Run, Scenario, Upgrade, WrittenLesson, current_viewer

SEE, START, OWN = "see", "start", "own"
SAMPLE = Scenario.Origin.SAMPLE


@dataclass(frozen=True)
class Viewer:
    """The viewer of a request. `user_id`: None if not signed in. `links`: IDs of the shares whose links were opened in
    this session. `writes`: False for a read-only token."""

    user_id: int | None = None
    admin: bool = False
    links: tuple[int, ...] = ()
    writes: bool = True

    @property
    def owner_id(self) -> int | None:
        return self.user_id

    @property
    def anonymous(self) -> bool:
        """Return whether the viewer is neither signed in nor has opened a link."""
        return self.user_id is None and not self.links

    def visible(self, rows: QuerySet) -> QuerySet:
        return rows if self.admin else rows.filter(VISIBLE[rows.model](self))

    def has_permission(self, action: str, thing: Any) -> bool:
        """Return whether the viewer may do `action` with `thing`.

        SEE: view it. START: start own work from it (a run, a fork, an edit); a link does not permit this. OWN: act as
        its owner (rename, delete, share, cancel). Administrators may do everything.
        """
        if action == SEE:
            return can_view(self, type(thing), thing.pk)
        if self.user_id is None or not self.writes:
            return False
        if action == START:
            return can_view(replace(self, links=()), type(thing), thing.pk)
        return self.admin or thing.owner_id == self.user_id

    def owned(self) -> Q:
        """Return a condition for the rows that the viewer owns."""
        return Q(pk__in=[]) if self.user_id is None else Q(owner=self.user_id)

    def shares(self) -> QuerySet[Share]:
        """Return the shares that are currently visible to the viewer."""
        theirs = Q(pk__in=self.links, group=None)
        if self.user_id is not None:
            theirs |= Q(group__members=self.user_id)
        return Share.objects.live().filter(theirs)


def _scenarios(who: Viewer) -> Q:
    """Return a condition for visible scenarios: own ones, samples (if signed in), shared ones, and the scenario of a
    shared run if it is a sample or belongs to the user who shares the run."""
    sharers = Q(run__scenario__owner=F("owner")) | Q(run__scenario__origin=SAMPLE)
    found = who.owned() | Q(Exists(who.shares().filter(scenario=OuterRef("pk"))))
    found |= Q(Exists(who.shares().filter(sharers, run__scenario=OuterRef("pk"))))
    return found if who.user_id is None else found | Q(origin=SAMPLE)


def shared_with_scenario(who: Viewer) -> Q:
    """Return a condition for rows whose owner shares their scenario."""
    return Q(Exists(who.shares().filter(scenario=OuterRef("scenario"), owner=OuterRef("owner"))))


VISIBLE: dict[Any, Callable[[Viewer], Q]] = {
    Scenario: _scenarios,
    Run: lambda who: who.owned() | shared_with_scenario(who) | Q(Exists(who.shares().filter(run=OuterRef("pk")))),
    Upgrade: lambda who: who.owned() | shared_with_scenario(who),
    WrittenLesson: lambda who: who.owned() | shared_with_scenario(who),
}


def viewer_of(user: User | AnonymousUser, links: tuple[int, ...] = (), writes: bool = True) -> Viewer:
    """Return the viewer for a user. A deactivated user counts as anonymous."""
    if not user.is_authenticated or not user.is_active:
        return Viewer(links=links)
    return Viewer(user.pk, user.is_superuser, links, writes)


def visible_to(who: Viewer, model: type[Any]) -> QuerySet[Any]:
    """Return the rows of Scenario, Run, Upgrade or WrittenLesson that the viewer may see."""
    with current_viewer.as_viewer(who):
        return model.objects.all()


def can_view(who: Viewer, model: type[Any], pk: int) -> bool:
    """Return whether the row exists and the viewer may see it. Queries the database each time, because a share may be
    revoked."""
    return visible_to(who, model).filter(pk=pk).exists()


def refusal(who: Viewer, action: str) -> str:
    """Return a sentence that explains why a viewer who may see an object may not do `action` with it."""
    if not who.writes:
        return "This token is read-only. Create a token with write permission."
    if who.user_id is None:
        return "This link is read-only. To change or run something, sign in and upload the cluster yourself."
    if action == START:
        return "You opened this through a read-only link. Ask the owner to share it with one of your groups."
    return "Only the owner can change, delete or share this. You can start your own run, fork or version."
