"""What a room says no to."""


class Refused(Exception):
    """A sentence for whoever asked, and the HTTP status that goes with it."""

    def __init__(self, says: str, status: int = 409) -> None:
        super().__init__(says)
        self.status = status
