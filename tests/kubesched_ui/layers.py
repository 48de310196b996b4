"""A channel layer as bad as it may be."""

import random
from typing import Any

from channels.layers import InMemoryChannelLayer


class ForgetfulLayer(InMemoryChannelLayer):
    """Loses half of all notices, and those that find a channel full."""

    random = random.Random(7)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.random.random() < 0.5:
            await super().group_send(group, message)
