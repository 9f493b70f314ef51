"""The ports that a job on the hosts' network has on every node, recorded on the job itself."""

import zlib
from collections.abc import Mapping

from paddle_operator.api.names import ANNOTATION_HOST_PORT
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.desired.paddlejob.snapshot import PortRange, Snapshot

# One for each process of a pod, and some for Gloo and the like; Paddle is told so by TRAINER_PORTS_NUM.
PORTS_OF_A_JOB = 20
LOWEST, HIGHEST = 1024, 65535


def recorded_port(annotations: Mapping[str, str]) -> int | None:
    """Give the first port that a job was given; words that are no port count as none."""
    word = annotations.get(ANNOTATION_HOST_PORT, "")
    port = int(word) if word.isascii() and word.isdecimal() and len(word) <= len(str(HIGHEST)) else 0
    return port if LOWEST <= port <= HIGHEST - PORTS_OF_A_JOB + 1 else None


def host_port(snapshot: Snapshot) -> int | None:
    """Give the job's first port: the one it has, or one that no other job has; nothing if all are taken.

    Jobs start their search in different places: two that are looked at at once hardly choose the same.
    Should they, the scheduler keeps their pods apart, as the ports are declared.
    """
    if (recorded := recorded_port(snapshot.job.metadata.annotations)) is not None:
        return recorded
    free = [port for port in blocks(snapshot.settings.port_range) if port not in snapshot.taken_ports]
    return free[zlib.crc32(snapshot.job.metadata.uid.encode()) % len(free)] if free else None


def blocks(ports: PortRange) -> range:
    """Give the first ports of the blocks that fit into the range."""
    return range(ports.first, ports.last - PORTS_OF_A_JOB + 2, PORTS_OF_A_JOB)


def lacks_record(job: PaddleJob) -> bool:
    return job.spec.intranet is Intranet.HOST and recorded_port(job.metadata.annotations) is None


def lacks_port(snapshot: Snapshot) -> bool:
    return snapshot.job.spec.intranet is Intranet.HOST and host_port(snapshot) is None
