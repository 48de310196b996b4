"""The exception for invalid input."""


class InputError(ValueError):
    """A user's input is invalid.

    `where` names the object (`Pod default/web-1`, `profiles[0] "default-scheduler"`). `field` is the path inside it
    (empty for the object as a whole). `problem` describes the error. `str()` is a message for users.
    """

    def __init__(self, where: str, field: str, problem: str) -> None:
        super().__init__(where, field, problem)
        self.where = where
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.problem) if part)
