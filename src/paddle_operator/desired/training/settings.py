"""What the manager was started with, for jobs of every kind."""

from enum import StrEnum

DEFAULT_IMAGE = "localhost/paddle-operator:dev"


class Scheduling(StrEnum):
    """Who schedules the pods of a job all or none: nobody, Volcano, or Kubernetes itself by 1.35's alpha API."""

    NONE = ""
    VOLCANO = "volcano"
    NATIVE = "native"
