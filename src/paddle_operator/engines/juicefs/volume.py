"""A JuiceFS volume, as its Secret describes it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

REQUIRED = ("name", "metaurl")
OPTIONAL = ("storage", "bucket", "access-key", "secret-key")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", re.ASCII)
PASSWORD_OPTION = re.compile(r"[?&](ssl)?password=", re.IGNORECASE)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


class VolumeError(ValueError):
    """What a Secret lacks, or has wrong; never with a value of it."""


@dataclass(frozen=True)
class Volume:
    """What it takes to mount a volume and, with a storage and a bucket, to make it; printing it shows no secret."""

    name: str
    storage: str
    bucket: str = field(repr=False)
    meta_address: str
    meta_secrets: Mapping[str, str] = field(repr=False)
    access_key: str = field(repr=False, default="")
    secret_key: str = field(repr=False, default="")


def read_volume(secret: Mapping[str, str]) -> Volume:
    """Read a Secret's values, less the line end that `echo | base64` leaves in them."""
    values = {name: value.strip() for name, value in secret.items()}
    if missing := [name for name in REQUIRED if not values.get(name)]:
        raise VolumeError(f"the volume's Secret has no {', '.join(missing)}: add it")
    if not NAME.fullmatch(values["name"]):
        raise VolumeError("the volume's name has 3 to 63 lower-case letters, digits and dashes, no dash at its ends")
    if bad := [name for name in (*REQUIRED, *OPTIONAL) if is_unfit(values.get(name, ""))]:
        raise VolumeError(f"{', '.join(bad)} in the volume's Secret begins with '-' or has a control character in it")
    if PASSWORD_OPTION.search(values["metaurl"]):
        raise VolumeError("metaurl has a password among its options, for all to read: write USER:PASSWORD@HOST instead")
    address, password = without_password(values["metaurl"])
    # The first is read by 0.14 and, for Redis alone, by 1.x; the second by 1.x for all.
    secrets = {"REDIS_PASSWORD": password, "META_PASSWORD": password} if password else {}
    storage, bucket, *keys = (values.get(name, "") for name in OPTIONAL)
    return Volume(values["name"], storage, bucket, address, secrets, *keys)


def is_unfit(value: str) -> bool:
    return value.startswith("-") or CONTROL_CHARACTERS.search(value) is not None


def with_scheme(url: str) -> str:
    """Write a metadata address out: without a scheme, JuiceFS takes it for a Redis'."""
    return url if "://" in url else f"redis://{url}"


def without_password(url: str) -> tuple[str, str]:
    """Take the password out of a metadata address: what is left may be on a command line."""
    scheme, separator, rest = with_scheme(url).partition("://")
    login, at, place = rest.rpartition("@")
    user, _, password = login.partition(":")
    # But for Redis, 0.14 takes a password from its environment only where the address has room for one.
    user += ":" if password and not scheme.startswith("redis") else ""
    return f"{scheme}{separator}{user}{at if user else ''}{place}", unquote(password)
