"""Our kinds as the wire knows them."""

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.definition import Kind as Definition
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.samplejob import SampleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.api.training import PyTorchJob, TFJob
from paddle_operator.kube.request import Kind


def kind_of(struct: type[Definition]) -> Kind:
    definition = struct.definition
    return Kind(definition.group, definition.version, definition.plural, definition.kind)


PADDLE_JOBS = kind_of(PaddleJob)
TF_JOBS = kind_of(TFJob)
PYTORCH_JOBS = kind_of(PyTorchJob)
SAMPLE_SETS = kind_of(SampleSet)
SAMPLE_JOBS = kind_of(SampleJob)
CACHE_BACKENDS = kind_of(CacheBackend)
NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
