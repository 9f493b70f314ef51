"""Which programs a container finds: images are not run, so those of this machine, and for our own image our own."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import paddle_operator
from paddle_operator.embedded.node.rootfs import Mount

# Where we found our own modules, others of us find them too.
SOURCE = os.pathsep.join(filter(None, (str(Path(paddle_operator.__file__).parents[1]), os.environ.get("PYTHONPATH"))))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Programs:
    """`image` is the name that our own image has; all others have directories `first` on PATH, and `mounts`."""

    image: str
    first: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    own: tuple[str, ...] = ()

    def variables(self, image: str, hostname: str) -> dict[str, str]:
        """Give what every container has without asking for it."""
        known = {"HOSTNAME": hostname, "HOME": os.environ.get("HOME", "/root")}
        if image != self.image:
            return {**known, "PATH": os.pathsep.join((*self.first, os.environ.get("PATH", PATH)))}
        ours = (*self.own, str(Path(sys.executable).parent), PATH)
        return {**known, "PATH": os.pathsep.join(ours), "PYTHONPATH": SOURCE, "RUNTIME_SOURCE_DIRS": "/"}
