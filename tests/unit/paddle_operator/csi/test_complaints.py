"""What JuiceFS said when it failed, as people read it in a pod's events."""

import pytest

from paddle_operator.csi.complaints import refusal
from paddle_operator.csi.errors import Code
from paddle_operator.csi.volumes import Volume

SECRET = {
    "name": "imagenet",
    "metaurl": "redis://:hid%2Fden@10.0.0.1:6379/0",
    "storage": "s3",
    "bucket": "https://bucket.example.org",
    "access-key": "key-id",
    "secret-key": "key-itself",
}
VOLUME = Volume("ns-imagenet", SECRET)
BEFORE = "2026/01/02 03:04:05.678901 juicefs[123] "


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        pytest.param(
            "<FATAL>: format: WRONGPASS invalid username-password pair or user is disabled.",
            Code.INVALID,
            "refuses the user or the password: correct metaurl",
            id="wrong password",
        ),
        pytest.param(
            "<FATAL>: format: dial tcp 10.0.0.1:6379: connect: connection refused",
            Code.UNAVAILABLE,
            "cannot be reached",
            id="nobody there",
        ),
        pytest.param(
            "<FATAL>: format: dial tcp: lookup redis.default: no such host",
            Code.UNAVAILABLE,
            "no address",
            id="no name",
        ),
        pytest.param(
            "<FATAL>: Storage s3://x/ is not configured correctly: SignatureDoesNotMatch: key-id",
            Code.INVALID,
            "correct access-key and secret-key",
            id="wrong keys",
        ),
        pytest.param("<FATAL>: something new", Code.INTERNAL, "it ended with 1 (it said: something new)", id="unknown"),
    ],
)
def test_a_failure_is_told_with_its_cause_and_what_to_do(line: str, code: Code, words: str) -> None:
    refused = refusal("format", VOLUME, f"{BEFORE}<INFO>: Meta address\n{BEFORE}{line}\n", "it ended with 1")
    assert refused.code is code
    assert words in refused.sentence
    assert "juicefs cannot format the volume imagenet" in refused.sentence


def test_the_same_failure_has_the_same_words_each_time() -> None:
    said = [f"2026/01/02 03:04:0{second}.1 juicefs[{second}] <FATAL>: no [main@main.go:1]\n" for second in (1, 2)]
    assert refusal("mount", VOLUME, said[0], "x").sentence == refusal("mount", VOLUME, said[1], "x").sentence


@pytest.mark.parametrize("secret", ["hid/den", "hid%2Fden", "key-id", "key-itself"])
def test_no_secret_is_repeated(secret: str) -> None:
    assert secret not in refusal("mount", VOLUME, f"<FATAL>: cannot use {secret} for it", "x").sentence


def test_a_client_that_said_nothing_is_told_of_too() -> None:
    assert refusal("mount", VOLUME, "", "it took too long").sentence.endswith("it took too long (it said: nothing)")
