"""Pods: what is taken and refused beyond a schema, as jobs' templates may ask for it, and what is said then."""

import pytest

from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind
from support.manifests import changed
from support.podrefusals import GOOD, REFUSED_OTHERWISE, REFUSED_PODS, TAKEN_PODS

from .conftest import Api

STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet")
EVERY = {**REFUSED_PODS, **REFUSED_OTHERWISE}


@pytest.fixture
def accounted(namespace: Kubectl) -> None:
    """Have the account that pods of a real namespace get, soon after it is made."""
    wait_until(lambda: namespace.items("serviceaccounts") != [], 60, "there is no account")


async def tried(api: Api, changes: Manifest) -> Manifest:
    return await api.post(PODS, changed(GOOD, changes), fieldValidation="Strict", dryRun="All")


async def refusal(api: Api, wrong: str) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as refused:
        await tried(api, EVERY[wrong][0])
    return refused.value


@pytest.mark.parametrize("wrong", EVERY)
async def test_a_pod_that_cannot_be_is_refused_in_words(embedded: Api, wrong: str) -> None:
    assert EVERY[wrong][1] in (await refusal(embedded, wrong)).message


@pytest.mark.parametrize("odd", TAKEN_PODS)
async def test_what_looks_like_a_mistake_and_is_none_is_taken(embedded: Api, odd: str) -> None:
    await tried(embedded, TAKEN_PODS[odd])


@pytest.mark.cluster
@pytest.mark.usefixtures("accounted")
async def test_the_real_one_refuses_the_same_pods_with_the_same_words(embedded: Api, genuine: Api) -> None:
    ours = {wrong: (await refusal(embedded, wrong)).status for wrong in EVERY}
    assert ours == {wrong: (await refusal(genuine, wrong)).status for wrong in EVERY}
    for odd in TAKEN_PODS:
        await tried(genuine, TAKEN_PODS[odd])


async def test_a_template_of_pods_that_cannot_be_is_refused_as_well(api: Api) -> None:
    labels = {"app": "one"}
    template = {"metadata": {"labels": labels}, "spec": changed(GOOD, {"spec.volumes": []})["spec"]}
    spec = {"selector": {"matchLabels": labels}, "serviceName": "one", "template": template}
    with pytest.raises(errors.InvalidError) as refused:
        await api.post(STATEFUL_SETS, {"metadata": {"name": "one"}, "spec": spec}, dryRun="All")
    assert 'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"' in refused.value.message
