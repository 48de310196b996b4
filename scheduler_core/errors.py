"""The one error that bad input raises."""


class InputError(ValueError):
    """Something a person gave us is wrong.

    `where` names the object (`Pod default/web-1`, `profiles[0] "default-scheduler"`), `field` the path inside it
    (empty when the object as a whole is meant), `problem` what is wrong with it. `str()` is ready to be shown.
    """

    def __init__(self, where: str, field: str, problem: str) -> None:
        super().__init__(where, field, problem)
        self.where = where
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.problem) if part)
