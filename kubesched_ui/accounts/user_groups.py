"""User groups: create one, and add members. Their numbers are limited."""

from django.contrib.auth.models import User
from django.db import transaction

from kubesched_ui.accounts.models import Group
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.errors import InputError

MOST = 100  # maximum number of groups per user


@transaction.atomic
def make(owner: User, name: str) -> Group:
    """Create a group of its owner. Raises InputError."""
    if not name:
        raise InputError("Group", "name", "Group name cannot be empty.")
    lock_until_commit(f"groups of user {owner.pk}")
    if owner.own_groups.count() >= MOST:
        raise InputError("Group", "", f"You already have {MOST} groups. Delete some of them.")
    made = Group.objects.create(name=name, owner=owner)
    made.members.add(owner)
    return made


@transaction.atomic
def add(group: Group, user: User) -> None:
    """Add a member. Raises InputError."""
    lock_until_commit(f"members of group {group.pk}")
    if group.members.count() >= Group.MOST:
        raise InputError("Group", "members", f"A group can have at most {Group.MOST} members.")
    group.members.add(user)
