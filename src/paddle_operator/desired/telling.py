"""What is told to people of an object, whatever its kind: in its events, and when nothing goes on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """Something to tell whoever looks at the object's events."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True)
class Refusal:
    """Why nothing goes on until somebody changes something."""

    reason: str
    message: str
