"""Answers a list: all that is selected, or a page of it as it was when the first page was read."""

import base64
import binascii
from collections.abc import Mapping

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.embedded.apiserver.selectors import Selector
from paddle_operator.embedded.apiserver.storage import Storage


class Token(msgspec.Struct, frozen=True):
    """Where the next page begins, and in which version of the world."""

    version: int
    namespace: str
    name: str

    def encoded(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()

    @classmethod
    def decoded(cls, text: str) -> "Token":
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text), type=cls)
        except (msgspec.DecodeError, binascii.Error, ValueError) as error:
            raise refusals.bad_request(f"continue key is not valid: {error}") from error


def page(storage: Storage, resource: Resource, selector: Selector, query: Mapping[str, str]) -> Manifest:
    limit = number(query, "limit") or 0
    token = Token.decoded(query["continue"]) if query.get("continue") else None
    version = token.version if token else _asked_version(storage, query)
    if version is not None and version < storage.oldest:
        raise refusals.list_expired(continued=token is not None)
    every = storage.items(resource.kind, version)
    found = [manifest for manifest in every if selector(manifest)]
    if token:
        found = [manifest for manifest in found if key_of(manifest) > Key(token.namespace, token.name)]
    at = storage.version if version is None else version
    metadata: Manifest = {"resourceVersion": str(at)}
    if limit and len(found) > limit:
        last = key_of(found[limit - 1])
        metadata["continue"] = Token(at, last.namespace, last.name).encoded()
        metadata["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    kind = resource.kind
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": found}


def _asked_version(storage: Storage, query: Mapping[str, str]) -> int | None:
    """Take a version as the least one, which now always is, unless exactly that one is asked for."""
    asked = number(query, "resourceVersion")
    if asked and asked > storage.version:
        raise refusals.too_new(asked, storage.version)
    return asked if query.get("resourceVersionMatch") == "Exact" else None


def number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if text and not text.isdecimal():
        raise refusals.bad_request(f'invalid {name}: "{text}" is not a number')
    return int(text) if text else None
