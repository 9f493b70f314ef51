"""Asking containers."""

import pytest

from paddle_operator.embedded.node import probes
from paddle_operator.embedded.node.commands import Inside
from paddle_operator.embedded.node.probes import Subject

SUBJECT = Subject("127.0.0.1", {"name": "main", "ports": [{"name": "http", "containerPort": 1}]}, Inside(1, {}))


@pytest.mark.parametrize(
    ("port", "answer"),
    [
        pytest.param("http", False, id="a port at which nobody answers"),
        pytest.param("htpp", None, id="a port that there is not"),
    ],
)
async def test_what_cannot_be_asked_is_no_answer(port: str, *, answer: bool | None) -> None:
    assert await probes.ask({"tcpSocket": {"port": port}}, SUBJECT, 5) is answer
    assert await probes.ask({"httpGet": {"port": port}}, SUBJECT, 5) is answer
