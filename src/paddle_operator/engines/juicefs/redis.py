"""Asks a Redis many questions at once; it reads, and knows no more of Redis than that takes."""

import contextlib
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import hiredis

from paddle_operator.engines.juicefs.volume import with_scheme

USUAL_PORT = 6379
REACHED_WITHIN, ANSWERED_WITHIN = 3.0, 30.0
AT_ONCE = 256 << 10
Reply = bytes | int | None | list["Reply"]
MORE = object()


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
    """Read [redis://][USER:PASSWORD@]HOST[:PORT][/DATABASE]; None for all else, such as clusters and other engines."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(with_scheme(url))
        database = parts.path.strip("/") or "0"
        if parts.scheme == "redis" and parts.hostname and "," not in parts.netloc and not parts.query:
            login = unquote(parts.username or ""), unquote(parts.password or "")
            return Address(parts.hostname, parts.port or USUAL_PORT, int(database), *login)
    return None


class Redis:
    """One conversation: any number of questions are sent together, and answered in their order."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._answers = hiredis.Reader(notEnoughData=MORE)

    def ask(self, questions: Iterable[tuple[bytes, ...]]) -> list[Reply]:
        sent = [hiredis.pack_command(words) for words in questions]  # type: ignore[arg-type]  # it takes any number
        try:
            self._connection.sendall(b"".join(sent))
            return [self._answer() for _ in sent]
        except OSError as error:
            raise RedisError("the connection to Redis broke") from error
        except hiredis.ProtocolError as error:
            raise RedisError("this is no answer of a Redis") from error

    def _answer(self) -> Reply:
        while (found := self._answers.gets()) is MORE:
            if not (received := self._connection.recv(AT_ONCE)):
                raise RedisError("Redis ended in the middle of an answer")
            self._answers.feed(received)
        if isinstance(found, hiredis.ReplyError):
            raise RedisError(f"Redis refuses: {str(found)[:80]!r}")
        return found  # type: ignore[no-any-return]  # what it reads are such answers


@contextlib.contextmanager
def opened(address: Address) -> Iterator[Redis]:
    try:
        connection = socket.create_connection((address.host, address.port), REACHED_WITHIN)
        connection.settimeout(ANSWERED_WITHIN)
    except (OSError, UnicodeError) as error:
        raise RedisError("Redis cannot be reached") from error
    with connection:
        redis = Redis(connection)
        login = [word.encode() for word in (address.user, address.password) if word]
        if address.password:
            redis.ask([(b"AUTH", *login)])
        redis.ask([(b"SELECT", b"%d" % address.database)])
        yield redis
