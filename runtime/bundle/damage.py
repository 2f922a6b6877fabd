"""`DamageError`: what is wrong with a file, and in which of its members."""

from typing import Final

GET_ANEW: Final = "Get the file again from where it came, or export the function again"


class DamageError(Exception):
    """A member of a file is not valid."""

    def __init__(self, member: str, reason: str, remedy: str = GET_ANEW) -> None:
        super().__init__(f"{member}: {reason}")
        self.member = member
        self.reason = reason
        self.remedy = remedy
