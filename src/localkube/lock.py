"""One change to a cluster at a time, across processes; a killed holder lets go by itself."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from localkube.paths import ClusterPaths
from localkube.progress import Progress


@contextmanager
def exclusive(paths: ClusterPaths, progress: Progress) -> Iterator[int]:
    """Hold the cluster's lock and give its descriptor."""
    paths.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"Another localkube is working on {paths.name}; waiting for it to finish.")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
