"""Workers on other hardware, in parameter server mode: the second stage of a training that the workers begin."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.desired.paddlejob.devices import device_type
from paddle_operator.desired.paddlejob.roles import Member, RoleName, roles_of
from paddle_operator.desired.training.template import template_of

ALL = "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"
NEXT = "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"
PREVIOUS = "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"
STAGES = {RoleName.WORKER: "1", RoleName.HETER: "2"}


def has_stages(job: PaddleJob) -> bool:
    return roles_of(job.spec).keys() == set(RoleName)


def stage_variables(job: PaddleJob, member: Member) -> list[Manifest]:
    """Tell a worker its stage and who comes next or before; the lists are in the config map, also those by number."""
    if not has_stages(job) or member.role not in STAGES:
        return []
    roles = roles_of(job.spec)
    named = {
        "STAGE_ID": STAGES[member.role],
        "STAGE_NUM": str(len(STAGES)),
        "PADDLE_STAGE_TRAINERS_NUM": f"[{','.join(str(roles[role].replicas) for role in STAGES)}]",
    }
    if member.role is RoleName.HETER:
        named["HETER_DEVICE_TYPE"] = device_type(template_of(roles[member.role]))
        neighbours = _listed(job, PREVIOUS, "PADDLE_TRAINER_ENDPOINTS")
    else:
        neighbours = _listed(job, NEXT, ALL)
    return [*({"name": name, "value": value} for name, value in named.items()), neighbours]


def _listed(job: PaddleJob, variable: str, key: str) -> Manifest:
    return {"name": variable, "valueFrom": {"configMapKeyRef": {"name": job.metadata.name, "key": key}}}
