"""What the plugin answers when it cannot do what it was asked: a code of gRPC's and a sentence for the pod's events."""

from enum import Enum

import grpc


class Code(Enum):
    """The codes that the kubelet acts on, each with why we would answer it."""

    INVALID = grpc.StatusCode.INVALID_ARGUMENT  # the volume or its secret is wrong; trying again does not help
    UNAVAILABLE = grpc.StatusCode.UNAVAILABLE  # something else is not there yet
    NOT_FOUND = grpc.StatusCode.NOT_FOUND
    INTERNAL = grpc.StatusCode.INTERNAL


class RefusedError(Exception):
    """A call that failed, in words that people may read: never with a secret in them."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class NoAnswerError(Exception):
    """A file system did not answer in time; its client may be hung, or wait for something else."""
