"""Many TFJobs that share a few caches at once, on the embedded API server: python bench/caches.py [JOBS [CACHES]]."""

import asyncio
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from paddle_operator.api import crd
from paddle_operator.control.manager import Settings
from paddle_operator.kube.client import Client
from support import embeddedapi, fluid
from support.crowd import Crowd, controllers, look_again, rests
from support.eventually import eventually
from support.managing import managed

LONGEST = 300.0


async def measure(jobs: int, caches: int) -> dict[str, float]:
    served = [*map(crd.v1, crd.KINDS), *fluid.DEFINITIONS]
    async with embeddedapi.running(served) as api, fluid.running(api), Client(api.config, "bench") as client:
        crowd = Crowd(api, caches)
        async with managed(client, controllers(), Settings("example.org/applied")) as manager:
            began = time.monotonic()
            crowd.submit(jobs)
            await eventually(lambda: crowd.is_right and len(api.names("pods")) == jobs and rests(manager), LONGEST)
            made, writes = time.monotonic() - began, len(api.writes)
            look_again(manager, api)
            await eventually(lambda: rests(manager), LONGEST)
            at_rest = len([write for write in api.writes[writes:] if "events/" not in write])
            for _ in range(jobs):
                crowd.act()
            await eventually(lambda: crowd.is_right and rests(manager), LONGEST)
        async with managed(client, controllers(), Settings("example.org/applied")) as heir:
            again = len(api.writes)
            await eventually(lambda: not heir.caches.missing and crowd.is_right and rests(heir), LONGEST)
            after_restart = len([write for write in api.writes[again:] if "events/" not in write])
    return {
        "seconds to the last pod": round(made, 1),
        "writes for each job": round(writes / jobs, 1),
        "writes at rest": at_rest,
        "writes after a restart": after_restart,
        "peak MiB, API server included": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    jobs, caches = ([int(word) for word in sys.argv[1:]] + [300, 10][len(sys.argv) - 1 :])[:2]
    print(f"{jobs} TFJobs, {caches} caches")
    for what, figure in asyncio.run(measure(jobs, caches)).items():
        print(f"{what:<32}{figure}")


if __name__ == "__main__":
    main()
