"""Who may see what, and do what with it: the one place that knows. docs/accounts.md tells it in words.

`Viewer.seen` is what the models' `objects` give while somebody looks (viewing.py), so no list, count, search or related
row can forget it. `may` is asked by doors.py for every address, by the rule that rules.py has for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from kubesched_ui import current_viewer
from kubesched_ui.accounts.models import Share
from kubesched_ui.models import Run, Scenario, Upgrade

SEE, START, OWN = "see", "start", "own"
SAMPLE = Scenario.Origin.SAMPLE


@dataclass(frozen=True)
class Viewer:
    """Who looks. `user_id`: None for somebody who is not signed in. `links`: numbers of the shares whose links were
    opened in this session. `writes`: False with a token that only reads."""

    user_id: int | None = None
    admin: bool = False
    links: tuple[int, ...] = ()
    writes: bool = True

    @property
    def owner_id(self) -> int | None:
        return self.user_id

    @property
    def nobody(self) -> bool:
        """Neither signed in nor with a link."""
        return self.user_id is None and not self.links

    def seen(self, rows: QuerySet) -> QuerySet:
        return rows if self.admin else rows.filter(SEEN[rows.model](self))

    def may(self, action: str, thing: Any) -> bool:
        return may(self, action, thing)

    def owned(self) -> Q:
        """What is theirs."""
        return Q(pk__in=[]) if self.user_id is None else Q(owner=self.user_id)

    def shares(self) -> QuerySet[Share]:
        """The shares that show something to them now."""
        theirs = Q(pk__in=self.links, group=None)
        if self.user_id is not None:
            theirs |= Q(group__members=self.user_id)
        return Share.objects.live().filter(theirs)


def _scenarios(who: Viewer) -> Q:
    """Own ones, samples for who is signed in, shared ones; that of a shared run, where it is its sharer's to show."""
    sharers = Q(run__scenario__owner=F("owner")) | Q(run__scenario__origin=SAMPLE)
    found = who.owned() | Q(Exists(who.shares().filter(scenario=OuterRef("pk"))))
    found |= Q(Exists(who.shares().filter(sharers, run__scenario=OuterRef("pk"))))
    return found if who.user_id is None else found | Q(origin=SAMPLE)


def _with_scenario(who: Viewer) -> Q:
    """What belongs to who shares its scenario."""
    return Q(Exists(who.shares().filter(scenario=OuterRef("scenario"), owner=OuterRef("owner"))))


def _runs(who: Viewer) -> Q:
    return who.owned() | _with_scenario(who) | Q(Exists(who.shares().filter(run=OuterRef("pk"))))


def _upgrades(who: Viewer) -> Q:
    return who.owned() | _with_scenario(who)


SEEN: dict[Any, Callable[[Viewer], Q]] = {Scenario: _scenarios, Run: _runs, Upgrade: _upgrades}


def viewer_of(user: User | AnonymousUser, links: tuple[int, ...] = (), writes: bool = True) -> Viewer:
    """The viewer that a user is. One who may not sign in any more is nobody."""
    if not user.is_authenticated or not user.is_active:
        return Viewer(links=links)
    return Viewer(user.pk, user.is_superuser, links, writes)


def visible_to(who: Viewer, model: type[Any]) -> QuerySet[Any]:
    """The rows of Scenario, Run or Upgrade that they may see."""
    with current_viewer.looking(who):
        return model.objects.all()


def sees(who: Viewer, model: type[Any], pk: int) -> bool:
    """Whether they may see that row, and it is there. Asks the database each time: what was shared may be revoked."""
    return visible_to(who, model).filter(pk=pk).exists()


def may(who: Viewer, action: str, thing: Scenario | Run | Upgrade) -> bool:
    """SEE it; START something of their own from it (a run, a fork, an edit), which a link is not enough for; or do with
    it what its OWNer may: rename, delete, share, cancel. Administrators may do all."""
    if action == SEE:
        return sees(who, type(thing), thing.pk)
    if who.user_id is None or not who.writes:
        return False
    if action == START:
        return sees(replace(who, links=()), type(thing), thing.pk)
    return who.admin or thing.owner_id == who.user_id


def refusal(who: Viewer, action: str) -> str:
    """Why somebody who sees a thing may not do that with it, a sentence."""
    if not who.writes:
        return "This token is read-only. Create a token with write permission."
    if who.user_id is None:
        return "This link is read-only. To change or run something, sign in and upload the cluster yourself."
    if action == START:
        return "You opened this through a read-only link. Ask the owner to share it with one of your groups."
    return "Only the owner can change, delete or share this. You can start your own run, fork or version."
