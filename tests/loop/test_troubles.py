"""Whatever happens between a manager and its API server: the same table as on the real one."""

import pytest

from paddle_operator.kube import client as wire
from support.embeddedapi import Api
from support.managing import QUICKLY
from support.stage import change_everything, ends_well, staged
from support.troubles import TROUBLES, Trouble


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_after_any_trouble_the_world_is_as_wanted_and_nothing_was_made_twice(
    api: Api, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "RETRY", QUICKLY)
    async with staged(api.config, "default") as stage:
        async with trouble(stage):
            await change_everything(stage)
        await ends_well(stage)
