"""Errors of live classes."""


class Rejected(Exception):
    """A rejected request: a message for the user and an HTTP status."""

    def __init__(self, says: str, status: int = 409) -> None:
        super().__init__(says)
        self.status = status
