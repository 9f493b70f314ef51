"""Many jobs share a few caches, and managers die at any moment: no use is counted wrong, and at rest nobody writes."""

import asyncio

import pytest

from paddle_operator.api import crd
from paddle_operator.kube.client import Client
from support import embeddedapi, fluid
from support.crowd import Crowd, controllers, has_looked, look_again, rests
from support.eventually import eventually
from support.managing import managed, passes

from .conftest import SETTINGS

JOBS, CACHES, LIVES, ACTS = 24, 3, 4, 15


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_use_is_counted_wrong_whatever_jobs_do_and_whenever_managers_die(seed: int) -> None:
    served = [*map(crd.v1, crd.KINDS), *fluid.DEFINITIONS]
    async with embeddedapi.running(served) as api, fluid.running(api), Client(api.config, "tester") as client:
        crowd = Crowd(api, CACHES, seed)
        crowd.submit(JOBS)
        for _ in range(LIVES):
            async with managed(client, controllers(), SETTINGS):
                for _ in range(ACTS):
                    crowd.act()
                    await asyncio.sleep(0.01)
        async with managed(client, controllers(), SETTINGS) as manager:
            await eventually(lambda: crowd.is_right and has_looked(manager, api) and rests(manager))
            before, passed = len(api.writes), passes(manager, "tfjob")
            look_again(manager, api)
            await eventually(lambda: passes(manager, "tfjob") > passed and rests(manager))
            assert [write for write in api.writes[before:] if "events/" not in write] == []
            assert crowd.is_right
