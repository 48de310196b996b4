"""The first start: the link with which the administrator makes an account, in the log."""

import logging

from django.conf import settings
from django.db import DatabaseError

from kubesched_ui.accounts import invitations

logger = logging.getLogger(__name__)


def tell() -> None:
    """Says the link as long as there is no administrator. A database that is away is no reason not to start."""
    if not settings.ACCOUNTS:
        return
    try:
        if secret := invitations.first():
            logger.warning(
                "There is no administrator yet. To create the administrator account, open /account/invitation/%s/",
                secret,
            )
    except DatabaseError as error:
        logger.warning("Cannot determine whether there is an administrator: %s", error)
