"""How a reconcile ends when it does not fail: done, maybe to be looked at again, or stuck until somebody changes it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """The world is as wanted, or on its way; without `look_again` only a change brings us back."""

    look_again: float | None = None


@dataclass(frozen=True)
class Terminal:
    """Trying again at once cannot help: a person has to change something, and `message` tells what.

    `look_again`: what else the object has to expect comes all the same, and who refused something may take it by then.
    """

    reason: str
    message: str
    look_again: float | None = None


Outcome = Done | Terminal
