"""How a field says what it is for and what the API server refuses; decoding checks types alone."""

from dataclasses import dataclass

import msgspec

from paddle_operator.api.manifest import Manifest

RULES = "x-kubernetes-validations"


@dataclass(frozen=True)
class Rule:
    """A CEL expression that must hold, and the sentence for whoever wrote what it refuses."""

    holds: str
    message: str

    def manifest(self) -> Manifest:
        return {"rule": self.holds, "message": self.message}


def doc(description: str, *rules: Rule, **limits: object) -> msgspec.Meta:
    """Describe a field; limits are JSON schema's words (minimum, maxItems …) and are for the API server.

    A default that the API server writes is given as `default` here and as a factory in the struct: what equals a plain
    default would be lost when it is encoded.
    """
    return msgspec.Meta(description=description, extra_json_schema={**limits, **checked(*rules)} or None)


def shape(pattern: str, message: str, longest: int) -> msgspec.Meta:
    """Ask a string to match; the pattern alone stays for API servers that know no CEL."""
    rule = Rule(f"self.matches(r'{pattern}')", message)
    return msgspec.Meta(extra_json_schema={"maxLength": longest, "pattern": pattern, **checked(rule)})


def checked(*rules: Rule) -> Manifest:
    return {RULES: [rule.manifest() for rule in rules]} if rules else {}


def unchanged(path: str) -> str:
    """Say in CEL that an optional field is as it was."""
    return f"has(self.{path}) == has(oldSelf.{path}) && (!has(self.{path}) || self.{path} == oldSelf.{path})"


def at_birth(holds: str) -> str:
    """Ask it of new objects alone: those of an earlier definition keep the name they have, and must be able to go.

    Nothing else tells them apart in every version: a new object has no status, and any other the default of ours.
    """
    return f"has(self.status) || {holds}"
