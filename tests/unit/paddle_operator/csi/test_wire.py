"""Messages as records: what goes over the socket is what protobuf says."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import grpc
import pytest

from paddle_operator.csi import registration, wire
from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.messages import (
    Empty,
    Mode,
    MountVolume,
    NodePublishVolumeRequest,
    PluginInfo,
    RegistrationStatus,
    VolumeCapability,
    VolumeUsage,
)
from paddle_operator.csi.places import Places
from paddle_operator.csi.wire import Record, decode, encode, method

WHOLE = NodePublishVolumeRequest(
    volume_id="v",
    target_path="/t",
    volume_capability=VolumeCapability(MountVolume("juicefs", ("ro", "x")), Mode(5)),
    readonly=True,
    secrets={"name": "n"},
    volume_context={"mountOptions": "a=b"},
)
ON_THE_WIRE = (
    b'\n\x01v"\x02/t*\x16\x12\x10\n\x07juicefs\x12\x02ro\x12\x01x\x1a\x02\x08\x050\x01'
    b":\t\n\x04name\x12\x01nB\x13\n\x0cmountOptions\x12\x03a=b"
)


def test_a_record_is_encoded_as_protobuf_does() -> None:
    assert encode(WHOLE) == ON_THE_WIRE
    assert decode(NodePublishVolumeRequest, ON_THE_WIRE) == WHOLE


def test_what_is_not_sent_has_its_default() -> None:
    assert decode(NodePublishVolumeRequest, b"") == NodePublishVolumeRequest()


def test_what_is_not_known_is_left_out() -> None:
    assert decode(PluginInfo, encode(WHOLE)).type == "v"
    assert decode(Empty, encode(WHOLE)) == Empty()


def test_numbers_have_64_bits() -> None:
    usage = VolumeUsage(2**60, 2**62, 1, 1)
    assert decode(VolumeUsage, encode(usage)) == usage


def test_a_field_without_a_number_is_a_defect() -> None:
    class Unnumbered(Record, frozen=True):
        name: str = ""

    class Odd(Record, frozen=True):
        name: Annotated[float, wire.at(1)] = 0.0

    for kind in (Unnumbered, Odd):
        with pytest.raises(TypeError):
            encode(kind())


@pytest.fixture
def places() -> Iterator[Places]:
    with tempfile.TemporaryDirectory(prefix="csi-") as directory:
        yield Places(Path(directory, "kubelet"), Path(directory, "state"))


def asked(socket: Path, name: str, request: Record, answer: type[wire.Request]) -> wire.Request:
    with grpc.insecure_channel(f"unix://{socket}") as channel:
        ask = channel.unary_unary(f"/{name}", encode, lambda data: decode(answer, data))
        answered: wire.Request = ask(request, timeout=10)
    return answered


def test_the_kubelet_learns_the_drivers_name_and_where_to_ask(places: Places) -> None:
    places.registration.parent.mkdir(parents=True)
    places.registration.touch()  # as a killed plugin leaves it
    server = wire.serve(places.registration, registration.services(places))
    try:
        service = "pluginregistration.Registration"
        told = asked(places.registration, f"{service}/GetInfo", Empty(), PluginInfo)
        assert told == PluginInfo("CSIPlugin", "csi.juicefs.com", str(places.socket), ("1.0.0",))
        refused = RegistrationStatus(error="no such version")
        assert asked(places.registration, f"{service}/NotifyRegistrationStatus", refused, Empty) == Empty()
    finally:
        server.stop(0)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        pytest.param(RefusedError(Code.INVALID, "say so"), grpc.StatusCode.INVALID_ARGUMENT, "say so", id="refused"),
        pytest.param(OSError(2, "not there", "/x"), grpc.StatusCode.INTERNAL, "not there: /x", id="the kernel refused"),
    ],
)
def test_a_call_that_fails_is_answered_with_a_code_and_a_sentence(
    places: Places, error: Exception, code: grpc.StatusCode, words: str
) -> None:
    def fail(_: Empty) -> Empty:
        raise error

    server = wire.serve(places.socket, {"s": {"Call": method(Empty, fail)}})
    try:
        with pytest.raises(grpc.RpcError) as caught:
            asked(places.socket, "s/Call", Empty(), Empty)
        assert f"status = {code}" in str(caught.value)
        assert f'details = "{words}"' in str(caught.value)
    finally:
        server.stop(0)
