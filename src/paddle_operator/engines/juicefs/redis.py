"""Asks a Redis many questions at once; it reads, and knows no more of Redis than that takes."""

import contextlib
import io
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

USUAL_PORT = 6379
REACHED_WITHIN, ANSWERED_WITHIN = 3.0, 30.0
Reply = bytes | int | None | list["Reply"]


class RedisError(Exception):
    """It cannot be asked, or refuses; never with an address or a password in it."""


@dataclass(frozen=True)
class Address:
    """One Redis that is reached without encryption, and one of its databases."""

    host: str
    port: int
    database: int
    user: str = ""
    password: str = field(repr=False, default="")


def parse_address(url: str) -> Address | None:
    """Read redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]; None for all else, such as clusters and other engines."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        database = parts.path.strip("/") or "0"
        if parts.scheme == "redis" and parts.hostname and "," not in parts.netloc and not parts.query:
            login = unquote(parts.username or ""), unquote(parts.password or "")
            return Address(parts.hostname, parts.port or USUAL_PORT, int(database), *login)
    return None


class Redis:
    """One conversation: any number of questions are sent together, and answered in their order."""

    def __init__(self, connection: socket.socket, answers: io.BufferedReader) -> None:
        self._connection = connection
        self._answers = answers

    def ask(self, questions: Iterable[tuple[bytes, ...]]) -> list[Reply]:
        sent = [written(words) for words in questions]
        try:
            self._connection.sendall(b"".join(sent))
            return [self._read() for _ in sent]
        except (OSError, ValueError) as error:
            raise RedisError("the connection to Redis broke") from error

    def _read(self) -> Reply:
        """Read an answer; there are so many that the usual kinds come first."""
        line = self._answers.readline()
        kind = line[:1]
        if kind == b"$":
            return self._content(int(line[1:]))
        if kind == b"*":
            number = int(line[1:])
            return [self._read() for _ in range(number)] if number >= 0 else None
        if kind == b":":
            return int(line[1:])
        if kind == b"+":
            return line[1:-2]
        raise RedisError(f"Redis refuses: {line[1:80]!r}" if kind == b"-" else "this is no answer of a Redis")

    def _content(self, length: int) -> bytes | None:
        if length < 0:
            return None
        content = self._answers.read(length + 2)
        if len(content) != length + 2:
            raise RedisError("Redis ended in the middle of an answer")
        return content[:-2]


def written(words: tuple[bytes, ...]) -> bytes:
    return b"*%d\r\n%b" % (len(words), b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words]))


@contextlib.contextmanager
def opened(address: Address) -> Iterator[Redis]:
    try:
        connection = socket.create_connection((address.host, address.port), REACHED_WITHIN)
        connection.settimeout(ANSWERED_WITHIN)
    except OSError as error:
        raise RedisError("Redis cannot be reached") from error
    with connection, connection.makefile("rb") as answers:
        redis = Redis(connection, answers)
        login = [word.encode() for word in (address.user, address.password) if word]
        if address.password:
            redis.ask([(b"AUTH", *login)])
        redis.ask([(b"SELECT", b"%d" % address.database)])
        yield redis
