"""Names of images as the container runtime knows them: never without a registry, never without a tag."""

import re

from localkube import errors

_WORD = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?P<host>[A-Za-z0-9.-]+(?::\d+)?)"
_FORM = re.compile(rf"(?:{_HOST}/)?(?P<path>{_WORD}(?:/{_WORD})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?", re.ASCII)


def full(name: str) -> str:
    """Return the name that the kubelet asks the container runtime for: app:1 is docker.io/library/app:1."""
    parts = _FORM.fullmatch(name)
    if parts is None:
        raise errors.LocalkubeError(f"{name!r} cannot name an image: use something like localhost/app:1")
    host, path, tag = parts["host"], parts["path"], parts["tag"] or "latest"
    if host is not None and host != "localhost" and "." not in host and ":" not in host:
        host, path = None, f"{host}/{path}"
    if host is None:
        host = "docker.io"
    if host == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return f"{host}/{path}:{tag}"
