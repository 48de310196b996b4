"""First start: logs the link with which the administrator creates an account."""

import logging

from django.conf import settings
from django.db import DatabaseError

from kubesched_ui.accounts import invitations

logger = logging.getLogger(__name__)


def log_invitation() -> None:
    """Log the link while there is no administrator. The server also starts if the database is unreachable."""
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
