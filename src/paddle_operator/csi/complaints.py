"""What JuiceFS said when it failed, in plain words and without the secrets; pure."""

import re

from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.volumes import Volume
from paddle_operator.engines.juicefs.command import redacted

LONGEST = 300
# The time, the process and the place in JuiceFS' source: with them, no two events would be alike.
NOISE = re.compile(r"^\S+ \S+ juicefs\[\d+\] |\x1b\[\d*m| \[\w+@[\w.]+:\d+\]$", re.MULTILINE)
TROUBLE = re.compile(r"<(?:FATAL|ERROR)>: ")
CANNOT_UPDATE = re.compile(r"cannot update")
META = "the metadata engine in metaurl"
STORE = "the object store"
CAUSES = (
    (
        re.compile(
            r"WRONGPASS|NOAUTH|invalid password|AUTH failed|password authentication failed|Access denied for user"
        ),
        (Code.INVALID, f"{META} refuses the user or the password: correct metaurl in the secret"),
    ),
    (
        re.compile(r"InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|InvalidSecret|403 Forbidden"),
        (Code.INVALID, f"{STORE} refuses the keys: correct access-key and secret-key in the secret"),
    ),
    (
        re.compile(r"NoSuchBucket|[Ii]nvalid storage|bucket does not exist|[Ii]nvalid endpoint"),
        (Code.INVALID, f"{STORE} is not as the secret says: correct storage and bucket"),
    ),
    (
        re.compile(r"flag provided but not defined|unknown option|invalid value .* for flag"),
        (Code.INVALID, "this version of JuiceFS does not know an option of the volume: correct mountOptions"),
    ),
    (
        re.compile(r"no such host|server misbehaving"),
        (
            Code.UNAVAILABLE,
            "a host in the secret has no address: correct metaurl and bucket, or look at the cluster's DNS",
        ),
    ),
    (
        re.compile(r"connection refused|no route to host|i/o timeout|network is unreachable|connection reset"),
        (
            Code.UNAVAILABLE,
            f"{META} or {STORE} cannot be reached: see that they run, and that metaurl and bucket are right",
        ),
    ),
    (
        re.compile(r"not formatted|load setting"),
        (Code.INVALID, f"{META} holds no volume: give storage and bucket in the secret, and it is made"),
    ),
)


def refusal(verb: str, volume: Volume, output: str, ending: str) -> RefusedError:
    """Say what a command could not do, why as far as we know it, and JuiceFS' own words for who knows more."""
    lines = NOISE.sub("", redacted(output, volume.hidden())).strip().splitlines()
    code, cause, telling = known_cause(lines) or (Code.INTERNAL, ending, last_trouble(lines))
    words = TROUBLE.sub("", telling)[:LONGEST]
    return RefusedError(code, f"juicefs cannot {verb} the volume {volume.name}: {cause} (it said: {words})")


def known_cause(lines: list[str]) -> tuple[Code, str, str] | None:
    """Give the first cause that we know, and the last line that tells of it."""
    for pattern, (code, cause) in CAUSES:
        if telling := [line for line in lines if pattern.search(line)]:
            return code, cause, telling[-1]
    return None


def last_trouble(lines: list[str]) -> str:
    telling = [line for line in lines if TROUBLE.match(line)] or lines or ["nothing"]
    return telling[-1]
