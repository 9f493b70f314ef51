"""A CSI node driver in small: every volume is a tmpfs with one file, hello, that holds the volume's ID."""

import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LOG = logging.getLogger("csi_driver")
KUBELET = Path("/var/lib/kubelet")
# grpc is in the image, not where this file is checked.
grpc: Any = importlib.import_module("grpc")
Fields = dict[int, list[bytes]]
Method = Callable[[Fields], bytes]

# What the protocol's messages call each field of theirs that is used here.
PLUGIN_TYPE, PLUGIN_NAME, PLUGIN_ENDPOINT, PLUGIN_VERSIONS = 1, 2, 3, 4
STATUS_REGISTERED, STATUS_ERROR = 1, 2
INFO_NAME, INFO_VERSION = 1, 2
NODE_ID = 1
VOLUME_ID, PUBLISH_TARGET, UNPUBLISH_TARGET = 1, 4, 2
LENGTH_DELIMITED = 2
WIDTHS = {1: 8, 5: 4}


def varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the number at `start` and where it ends: seven bits a byte, the lowest first, the top bit for more."""
    value, place = 0, start
    while data[place] & 0x80:
        value |= (data[place] & 0x7F) << 7 * (place - start)
        place += 1
    return value | data[place] << 7 * (place - start), place + 1


def encoded_number(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + encoded_number(value >> 7) if value > 0x7F else bytes([value])


def message(fields: Mapping[int, str]) -> bytes:
    """Encode a protobuf message whose fields are all strings."""
    parts = ((number, text.encode()) for number, text in fields.items())
    return b"".join(
        encoded_number(number << 3 | LENGTH_DELIMITED) + encoded_number(len(text)) + text for number, text in parts
    )


def decoded(data: bytes) -> Fields:
    """Return the strings and messages in a protobuf message by field; a number is its encoding."""
    fields: Fields = {}
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == LENGTH_DELIMITED:
            length, place = varint(data, place)
            end = place + length
        else:
            end = place + WIDTHS[key & 7] if key & 7 in WIDTHS else varint(data, place)[1]
        fields.setdefault(key >> 3, []).append(data[place:end])
        place = end
    return fields


def text(fields: Fields, number: int) -> str:
    return fields[number][-1].decode() if number in fields else ""


class Driver:
    def __init__(self, name: str, node: str) -> None:
        self.name = name
        self.node = node
        self.socket = KUBELET / "plugins" / name / "csi.sock"
        self.registration = KUBELET / "plugins_registry" / f"{name}-reg.sock"

    def services(self) -> dict[str, dict[str, Method]]:
        return {
            "csi.v1.Identity": {
                "GetPluginInfo": lambda _: message({INFO_NAME: self.name, INFO_VERSION: "1"}),
                "GetPluginCapabilities": lambda _: b"",
                "Probe": lambda _: b"",
            },
            "csi.v1.Node": {
                "NodeGetInfo": lambda _: message({NODE_ID: self.node}),
                "NodeGetCapabilities": lambda _: b"",
                "NodePublishVolume": publish,
                "NodeUnpublishVolume": unpublish,
            },
        }

    def registrar(self) -> dict[str, dict[str, Method]]:
        """Offer what the kubelet asks of every socket it finds among its plugins."""
        fields = {
            PLUGIN_TYPE: "CSIPlugin",
            PLUGIN_NAME: self.name,
            PLUGIN_ENDPOINT: str(self.socket),
            PLUGIN_VERSIONS: "1.0.0",
        }
        return {
            "pluginregistration.Registration": {
                "GetInfo": lambda _: message(fields),
                "NotifyRegistrationStatus": notified,
            }
        }

    def run(self) -> None:
        """Serve volumes first: the kubelet calls as soon as it sees the registration."""
        volumes = served(self.socket, self.services())
        registration = served(self.registration, self.registrar())
        LOG.info("%s serves %s", self.name, self.node)
        registration.wait_for_termination()
        volumes.wait_for_termination()


def publish(request: Fields) -> bytes:
    """Mount once, however often the kubelet asks."""
    target = Path(text(request, PUBLISH_TARGET))
    target.mkdir(parents=True, exist_ok=True)
    if not target.is_mount():
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(target)], check=True)
    (target / "hello").write_text(text(request, VOLUME_ID) + "\n")
    return b""


def unpublish(request: Fields) -> bytes:
    target = Path(text(request, UNPUBLISH_TARGET))
    if target.is_mount():
        subprocess.run(["umount", str(target)], check=True)
    if target.exists():
        target.rmdir()
    return b""


def notified(request: Fields) -> bytes:
    if STATUS_REGISTERED in request:
        LOG.info("registered")
    else:
        LOG.error("refused: %s", text(request, STATUS_ERROR))
    return b""


def served(address: Path, services: Mapping[str, Mapping[str, Method]]) -> Any:  # noqa: ANN401 grpc has no types here
    """Serve on a unix socket; one that a killed predecessor left is in nobody's use."""
    address.parent.mkdir(parents=True, exist_ok=True)
    address.unlink(missing_ok=True)
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    for service, methods in services.items():
        handlers = {name: handler(name, method) for name, method in methods.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"unix:{address}")
    server.start()
    return server


def handler(name: str, method: Method) -> Any:  # noqa: ANN401 grpc has no types here
    """Without (de)serializers grpc hands over a message's bytes as they are."""

    def answer(request: bytes, _context: object) -> bytes:
        LOG.info("%s", name)
        return method(decoded(request))

    return grpc.unary_unary_rpc_method_handler(answer)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    Driver(sys.argv[1], os.environ["NODE_NAME"]).run()
