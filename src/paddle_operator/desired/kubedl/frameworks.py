"""TensorFlow and PyTorch: their types of pods, in which order these start, and who decides that a job has succeeded."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paddle_operator.api.training import (
    PyTorchJob,
    ReplicaSpec,
    RestartPolicy,
    SuccessPolicy,
    TFJob,
    TrainingCleanPodPolicy,
)

MOST_REPLICAS = 10000
CHIEF, MASTER, WORKER, PS = "Chief", "Master", "Worker", "PS"
EVALUATOR, AI_MASTER = "Evaluator", "AIMaster"
TrainingJob = TFJob | PyTorchJob


@dataclass(frozen=True)
class Framework:
    """`types` are in the order in which pods start; `after`: who waits until the pods of which types run.

    `deciding`: of these types, the first that a job has decides by its end that the job has succeeded.
    """

    container: str
    port_name: str
    port: int
    types: tuple[str, ...]
    after: Mapping[str, tuple[str, ...]]
    deciding: tuple[str, ...]
    clean_pod_policy: TrainingCleanPodPolicy
    restart_policies: Mapping[str, RestartPolicy] = field(default_factory=dict)


TENSORFLOW = Framework(
    container="tensorflow",
    port_name="tfjob-port",
    port=2222,
    types=(AI_MASTER, PS, MASTER, CHIEF, WORKER, EVALUATOR),
    after={WORKER: (PS,), CHIEF: (PS,), MASTER: (PS,), EVALUATOR: (PS,)},
    deciding=(CHIEF, MASTER, AI_MASTER, WORKER),
    clean_pod_policy=TrainingCleanPodPolicy.RUNNING,
)
PYTORCH = Framework(
    container="pytorch",
    port_name="pytorchjob-port",
    port=23456,
    types=(AI_MASTER, MASTER, WORKER),
    after={WORKER: (MASTER,), MASTER: (AI_MASTER,)},
    deciding=(MASTER, AI_MASTER, WORKER),
    clean_pod_policy=TrainingCleanPodPolicy.NONE,
    restart_policies={WORKER: RestartPolicy.ON_FAILURE},
)


@dataclass(frozen=True)
class Member:
    """One pod that a job shall have."""

    type: str
    index: int
    name: str

    @property
    def role(self) -> str:
        """Give the type as labels and names have it."""
        return self.type.lower()


def framework_of(job: TrainingJob) -> Framework:
    return TENSORFLOW if isinstance(job, TFJob) else PYTORCH


def replicas_of(job: TrainingJob) -> dict[str, ReplicaSpec]:
    """Give the types that have pods, in the order in which these start, whatever the case they are written in."""
    given = job.spec.tf_replica_specs if isinstance(job, TFJob) else job.spec.pytorch_replica_specs
    written = {word.lower(): spec for word, spec in given.items()}
    types = framework_of(job).types
    return {name: written[name.lower()] for name in types if name.lower() in written and count(written[name.lower()])}


def count(spec: ReplicaSpec) -> int:
    return 1 if spec.replicas is None else max(0, min(spec.replicas, MOST_REPLICAS))


def members_of(job: TrainingJob, *types: str) -> tuple[Member, ...]:
    """Give the pods that the job shall have, of these types or of all."""
    return tuple(
        Member(name, index, f"{job.metadata.name}-{name.lower()}-{index}")
        for name, spec in replicas_of(job).items()
        if not types or name in types
        for index in range(count(spec))
    )


def restart_policy(job: TrainingJob, type_: str) -> RestartPolicy:
    own = replicas_of(job)[type_].restart_policy
    return own or framework_of(job).restart_policies.get(type_, RestartPolicy.EXIT_CODE)


def needs_all_workers(job: TrainingJob) -> bool:
    return isinstance(job, TFJob) and job.spec.success_policy is SuccessPolicy.ALL_WORKERS
