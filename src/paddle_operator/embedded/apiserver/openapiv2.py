"""The one thing that kubectl reads in the older OpenAPI: that the server looks for unknown fields; in protobuf."""

import msgspec

from paddle_operator.embedded.apiserver.openapi import FIELD_VALIDATION, OF_KIND, identity, path
from paddle_operator.embedded.apiserver.resources import Catalogue, Resource

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ASKED = "/openapi/v2"
# The numbers of fields in the published messages.
SWAGGER, INFO, PATHS = 1, 2, 8
TITLE, VERSION = 1, 2
NAMED_PATH, NAME, VALUE = 2, 1, 2
PATCH, PARAMETERS, EXTENSION, YAML = 8, 8, 13, 2
PARAMETER, NOT_BODY, QUERY, PLACE, CALLED = 1, 2, 3, 2, 4
_BYTES = 2
_CONTINUED, _SEVEN_BITS = 0x80, 0x7F


def document(catalogue: Catalogue) -> bytes:
    info = _text(TITLE, "paddle-operator") + _text(VERSION, "v1")
    paths = b"".join(_field(NAMED_PATH, _text(NAME, path(found)) + _field(VALUE, _item(found))) for found in catalogue)
    return _text(SWAGGER, "2.0") + _field(INFO, info) + _field(PATHS, paths)


def _item(resource: Resource) -> bytes:
    query = _text(PLACE, "query") + _text(CALLED, FIELD_VALIDATION["name"])
    parameter = _field(PARAMETER, _field(NOT_BODY, _field(QUERY, query)))
    kind = _text(NAME, OF_KIND) + _field(VALUE, _text(YAML, msgspec.json.encode(identity(resource)).decode()))
    return _field(PATCH, _field(PARAMETERS, parameter) + _field(EXTENSION, kind))


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(content)) + content


def _text(number: int, content: str) -> bytes:
    return _field(number, content.encode())


def _number(value: int) -> bytes:
    """Write seven bits a byte, the lowest first."""
    written = bytearray()
    while value > _SEVEN_BITS:
        written.append(value & _SEVEN_BITS | _CONTINUED)
        value >>= 7
    return bytes([*written, value])
