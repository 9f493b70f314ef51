"""Asking a mounted volume whether its client lives, and how full it is, without waiting for ever."""

import errno
import os
from enum import Enum
from pathlib import Path

from paddle_operator.csi.errors import NoAnswerError
from paddle_operator.csi.namespaces import Questions

# JuiceFS answers for this file by itself, also while its metadata engine is away.
COUNTERS = ".stats"
GONE = frozenset({errno.ENOTCONN, errno.ECONNABORTED})


class Life(Enum):
    """What is known of a client."""

    ALIVE = "alive"
    DEAD = "dead"
    SILENT = "silent"


def observe_life(questions: Questions, mount: Path) -> Life:
    """Any answer is a sign of life, but for the kernel's that nobody is there to ask."""
    try:
        questions.ask(f"life {mount}", (mount / COUNTERS).stat)
    except NoAnswerError:
        return Life.SILENT
    except OSError as error:
        return Life.DEAD if error.errno in GONE else Life.ALIVE
    return Life.ALIVE


def observe_usage(questions: Questions, mount: Path) -> os.statvfs_result:
    """Raise NoAnswerError while the metadata engine is away."""

    def ask() -> os.statvfs_result:
        return os.statvfs(mount)

    return questions.ask(f"usage {mount}", ask)
