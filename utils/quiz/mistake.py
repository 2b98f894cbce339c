"""A mistake that no number can show."""


class Mistake(Exception):
    """Raised by an exercise's ``call`` or ``finish``, or when a module cannot be made."""

    def __init__(self, name: str, says: str):
        super().__init__(says)
        self.name, self.says = name, says
