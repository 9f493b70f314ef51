"""The client on the real API server: what it refuses, and what only a real one can do."""

import shutil
from pathlib import Path

import pytest
import yaml

from localkube import pki
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from paddle_operator.api.manifest import Key, Manifest, uid_of, version_of
from paddle_operator.kube import command, config, errors, request, tls
from paddle_operator.kube.client import Client
from paddle_operator.kube.command import Ended, Limits
from paddle_operator.kube.events import Event, Recorder
from paddle_operator.kube.request import PODS, Kind, Preconditions, Request, Scope
from support import family, workloads

REVIEWS = Kind("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)


async def test_the_real_server_refuses_and_pages_as_the_fake_one(kube: Cluster, namespace: Kubectl) -> None:
    def config_map(name: str, **data: str) -> Manifest:
        return {"metadata": {"name": name, "namespace": namespace.namespace}, "data": data}

    key = Key(namespace.namespace, "one")
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
        made = await client.create(family.CONFIG_MAPS, config_map("one", text="a\x85b\u2028c"))
        assert (await client.get(family.CONFIG_MAPS, key))["data"] == {"text": "a\x85b\u2028c"}
        with pytest.raises(errors.AlreadyExistsError):
            await client.create(family.CONFIG_MAPS, config_map("one"))
        with pytest.raises(errors.InvalidError):
            await client.create(family.CONFIG_MAPS, config_map("Not A Name"))
        with pytest.raises(errors.NotFoundError):
            await client.get(family.CONFIG_MAPS, Key(namespace.namespace, "missing"))
        with pytest.raises(errors.ConflictError):
            await client.delete(family.CONFIG_MAPS, key, Preconditions("another"))
        applied = await client.apply(family.CONFIG_MAPS, config_map("one", more="yes"))
        assert applied["data"] == {"text": "a\x85b\u2028c", "more": "yes"}
        again = await client.apply(family.CONFIG_MAPS, config_map("one", more="yes"))
        assert version_of(again) == version_of(applied), "applying the same changes nothing"
        with pytest.raises(errors.ConflictError):
            await client.replace(family.CONFIG_MAPS, made)
        for name, value in (("uid", "another"), ("resourceVersion", version_of(made))):
            with pytest.raises(errors.ConflictError):
                await client.patch(family.CONFIG_MAPS, key, {"metadata": {name: value, "labels": {"is": "late"}}})
        for name in ("one", "gone"):
            other = config_map(name)
            other["metadata"]["uid"] = "another"
            with pytest.raises(errors.ConflictError):
                await client.apply(family.CONFIG_MAPS, other)
        for number in range(7):
            await client.create(family.CONFIG_MAPS, config_map(f"page-{number}"))
        listing = await client.list(
            Scope(family.CONFIG_MAPS, namespace.namespace, fields="metadata.name!=kube-root-ca.crt"), 3
        )
        assert len(listing.items) == 8
        await client.delete(family.CONFIG_MAPS, key, Preconditions(uid_of(made)))


async def test_the_real_server_takes_every_event(kube: Cluster, namespace: Kubectl) -> None:
    about = {**family.parent("a" * 199 + "-b", namespace.namespace), "spec": {}}
    about["metadata"] |= {"uid": "u-1"}
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
        for _ in range(2):
            told = Recorder(client, "tester")
            for _ in range(2):
                told.record(Event(about, "Long" * 100, "\u6f22" * 3000))
                await told.flush()
    (event,) = namespace.items("events")
    assert (event["count"], event["metadata"]["name"][:200]) == (4, "a" * 199 + ".")
    assert (event["message"], event["reason"]) == ("\u6f22" * 341, "Long" * 32)


async def test_a_pods_log_is_read(kube: Cluster, namespace: Kubectl) -> None:
    namespace.apply(workloads.pod("talker", workloads.pod_spec("echo", "hello", restartPolicy="Never")))
    namespace.wait("jsonpath={.status.phase}=Succeeded", "pod/talker")
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
        assert await client.pod_log(Key(namespace.namespace, "talker")) == "hello\n"
        assert await client.pod_log(Key(namespace.namespace, "talker"), "main", 0) == ""
        assert PODS.kind == (await client.get(PODS, Key(namespace.namespace, "talker")))["kind"]


async def test_a_command_runs_in_a_pod(kube: Cluster, namespace: Kubectl) -> None:
    namespace.apply(workloads.sleeping_pod("host"))
    namespace.wait("condition=Ready", "pod/host")
    key = Key(namespace.namespace, "host")
    script = (
        "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.exit(len(data) % 256)"
    )
    stdin = bytes(range(256)) * 4000 + b"abc"
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:
        assert await command.run(client, key, ["echo", "a b", "$HOME"]) == Ended(0, b"a b $HOME\n", b"")
        printing = ["python3", "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"]
        assert await command.run(client, key, printing, container="main") == Ended(7, b"out\n", b"err\n")
        turned = await command.run(client, key, ["python3", "-c", script], stdin=stdin, limits=Limits(output=2 << 20))
        assert turned == Ended(3, stdin[::-1], b"")
        assert (await command.run(client, key, ["cat"], stdin=b"")) == Ended(0, b"", b"")
        much = await command.run(client, key, ["head", "-c", "3000000", "/dev/zero"], limits=Limits(output=1000))
        assert (much.code, much.stdout, much.cut) == (0, bytes(1000), True)
        with pytest.raises(errors.UnreachableError, match="did not end in 1 s"):
            await command.run(client, key, ["sleep", "60"], limits=Limits(seconds=1))


async def test_why_a_command_does_not_run_is_told(kube: Cluster, namespace: Kubectl) -> None:
    """In one pod one container runs, one never will, one has ended; a second pod is over, a third has no node."""
    never = {**workloads.container("sleep"), "name": "never", "image": "localhost/nowhere:1"}
    ended = {**workloads.container("true"), "name": "ended"}
    running = workloads.container("sleep", "infinity")
    mixed = workloads.pod_spec("", containers=[running, never, ended], restartPolicy="Never")
    namespace.apply(workloads.pod("mixed", mixed))
    namespace.apply(workloads.pod("over", workloads.pod_spec("true", restartPolicy="Never")))
    namespace.apply(workloads.sleeping_pod("homeless", node="nowhere"))
    namespace.wait("jsonpath={.status.phase}=Succeeded", "pod/over")
    namespace.wait('jsonpath={.status.containerStatuses[?(@.name=="main")].started}=true', "pod/mixed")
    namespace.wait('jsonpath={.status.containerStatuses[?(@.name=="ended")].state.terminated.exitCode}=0', "pod/mixed")
    async with Client(config.load(str(kube.paths.kubeconfig)), "tester") as client:

        async def refusal(pod: str, container: str = "main", program: str = "true") -> errors.KubeError:
            with pytest.raises(errors.ApiError) as caught:
                await command.run(client, Key(namespace.namespace, pod), [program], container=container)
            return caught.value

        assert isinstance(await refusal("nobody"), errors.NotFoundError)
        assert isinstance(await refusal("mixed", "third"), errors.BadRequestError)
        assert isinstance(await refusal("mixed", "main", "/no/such/program"), errors.ServerError)
        assert isinstance(await refusal("mixed", "never"), errors.NotRunningError)
        assert isinstance(await refusal("mixed", "ended"), errors.NotRunningError)
        assert isinstance(await refusal("over"), errors.NotRunningError)
        assert isinstance(await refusal("homeless"), errors.NotRunningError)


async def test_a_renewed_certificate_makes_us_somebody_else(
    kube: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "LOOK_AGAIN", 0.0)
    for name in ("ca.crt", "ca.key"):
        shutil.copyfile(kube.paths.pki / name, tmp_path / name)
    pki.ensure(tmp_path, [pki.Subject("ada", "ada"), pki.Subject("eve", "eve")])

    def become(user: str) -> None:
        for end in ("crt", "key"):
            shutil.copyfile(tmp_path / f"{user}.{end}", tmp_path / f"user.{end}")

    become("ada")
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": kube.spec.server, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "u", "user": {"client-certificate": "user.crt", "client-key": "user.key"}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(content))
    asked = Request("POST", REVIEWS.collection(), body=request.encode(REVIEWS.identity))
    async with Client(config.load(str(tmp_path / "config")), "tester") as client:
        assert (await client.send(asked))["status"]["userInfo"]["username"] == "ada"
        with pytest.raises(errors.ForbiddenError, match='User "ada" cannot'):
            await command.run(client, Key("default", "any"), ["true"])
        become("eve")
        assert (await client.send(asked))["status"]["userInfo"]["username"] == "eve"
