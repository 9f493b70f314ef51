"""A job whose workers read their shares of the data over and over, and compare every byte."""

import inspect
from dataclasses import dataclass

from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Manifest
from localkube.waiting import wait_until
from support import imagenet
from support.paddlejobs import paddle_job, role

NAME = "train"
WORKERS = 3
NOTES = "/var/lib/readers"
PATIENCE = 90.0
# What was read goes from the kernel's cache, so that JuiceFS is asked each time. What cannot be read is no wrong byte.
LOOP = """
contents = files(int(sys.argv[2]))
number = os.environ["PADDLE_TRAINER_ID"]
share = sorted(contents)[int(number)::3]

def read(path):
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.readall()

with open(f"/notes/{number}", "a", buffering=1) as notes:
    while True:
        failed = 0
        for name in share:
            try:
                found = read(f"{sys.argv[1]}/{name}")
            except OSError:
                failed += 1
                time.sleep(0.1)
                continue
            if found != contents[name].encode():
                notes.write(f"wrong {name} {len(found)}\\n")
        notes.write(f"epoch {failed}\\n")
        time.sleep(0.3)
"""


def job(files: int) -> Manifest:
    program = f"import hashlib, os, sys, time\n{inspect.getsource(imagenet.files)}\n{LOOP}"
    worker = role(WORKERS, "python3", "-c", program, imagenet.PLACE, str(files))
    spec = worker["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 1  # a pod without grace is gone before its processes are
    spec["volumes"] = [{"name": "notes", "hostPath": {"path": NOTES, "type": "DirectoryOrCreate"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "notes", "mountPath": "/notes"}]
    reference = {"name": imagenet.NAME, "mountPath": imagenet.PLACE}
    return paddle_job(NAME, worker=worker, sampleSetRef=reference, backoffLimit=10)


@dataclass(frozen=True)
class Readers:
    """Their notes are on their nodes, and outlive the pods."""

    cluster: Cluster

    def notes(self) -> list[list[str]]:
        """Give the lines that each worker wrote; a node that is off tells nothing."""
        found: list[list[str]] = [[] for _ in range(WORKERS)]
        for node in self.cluster.nodes:
            for number in range(WORKERS):
                try:
                    found[number] += node.control.run_inside(["cat", f"{NOTES}/{number}"]).splitlines()
                except LocalkubeError:
                    continue
        return found

    def wrong(self) -> list[str]:
        return [line for lines in self.notes() for line in lines if line.startswith("wrong")]

    def epochs(self) -> list[int]:
        """Count for each the epochs in which all of its files could be read."""
        return [lines.count("epoch 0") for lines in self.notes()]

    def until_each_has_read(self, times: int = 2) -> None:
        """Wait until each has read all of its share again; of two epochs, the second began after this."""
        before = self.epochs()

        def have_read() -> bool:
            return all(now >= then + times for now, then in zip(self.epochs(), before, strict=True))

        wait_until(have_read, PATIENCE, "not every worker reads all of its share", pause=0.5)
