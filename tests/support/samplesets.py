"""SampleSets and their Secrets, small ones to submit."""

import base64

from paddle_operator.api.manifest import Manifest

SOURCE = {"uri": "bos://paddleflow-public.hkg.bcebos.com/imagenet/demo"}


def secret(namespace: str = "default", name: str = "imagenet", **values: str) -> Manifest:
    """Give a Secret as people make it, with the line ends that `echo` leaves."""
    given = {"name": "imagenet", "storage": "redis", "bucket": "redis://host/1", "metaurl": "redis://host/0", **values}
    data = {key: base64.b64encode(f"{value}\n".encode()).decode() for key, value in given.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def sample_set(namespace: str = "default", **spec: object) -> Manifest:
    wanted = {"partitions": 1, "source": SOURCE, "secretRef": {"name": "imagenet"}, **spec}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {"name": "imagenet", "namespace": namespace},
        "spec": {name: part for name, part in wanted.items() if part is not None},
    }
