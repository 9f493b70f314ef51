"""What a path of the API server addresses."""

from typing import NamedTuple


class Place(NamedTuple):
    """A collection, an object in it, or a part of that object; what is not addressed is empty."""

    plural: str
    namespace: str
    name: str
    subresource: str


def place_of(path: str) -> Place:
    words = path.strip("/").split("/")
    rest = words[2:] if words[0] == "api" else words[3:]
    namespace = ""
    if rest and rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", "", ""][:3]
    return Place(plural, namespace, name, subresource)
