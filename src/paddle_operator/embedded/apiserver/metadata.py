"""Names, labels and the like: what may be in an object's metadata, and what the server itself puts there."""

import re
import secrets
import uuid
from collections.abc import Iterator

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver.ownership import now
from paddle_operator.embedded.apiserver.refusals import Cause, Why
from paddle_operator.kube.request import Kind

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
LONGEST_NAME, LONGEST_LABEL = 253, 63
SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
SERVICE_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
# Free strings by which others address an object, so they follow no rule of names.
PATH_SEGMENTS = ("rbac.authorization.k8s.io",)


def faults(kind: Kind, metadata: Manifest) -> Iterator[Cause]:
    yield from _name_faults(kind, metadata.get("name", ""))
    for name, value in (metadata.get("labels") or {}).items():
        yield from _label_faults(name, value)
    for name in metadata.get("annotations") or {}:
        if not is_qualified(name.lower()):
            yield Cause(Why.INVALID, "metadata.annotations", "name part must consist of alphanumeric characters", name)
    controllers = [owner for owner in metadata.get("ownerReferences") or [] if owner.get("controller")]
    if len(controllers) > 1:
        words = "Only one reference can have Controller set to true"
        yield Cause(Why.INVALID, "metadata.ownerReferences", words, metadata["ownerReferences"])


def _name_faults(kind: Kind, name: str) -> Iterator[Cause]:
    if not name:
        yield Cause(Why.REQUIRED, "metadata.name", "name or generateName is required")
        return
    pattern, longest, words = SUBDOMAIN, LONGEST_NAME, SUBDOMAIN_WORDS
    if kind.plural == "services":
        pattern, longest, words = SERVICE, LONGEST_LABEL, SERVICE_WORDS
    elif kind.plural == "namespaces":
        pattern, longest, words = LABEL, LONGEST_LABEL, LABEL_WORDS
    if len(name) > longest:
        yield Cause(Why.INVALID, "metadata.name", f"must be no more than {longest} bytes", name)
    elif kind.group not in PATH_SEGMENTS and not pattern.fullmatch(name):
        yield Cause(Why.INVALID, "metadata.name", words, name)


def _label_faults(name: str, value: str) -> Iterator[Cause]:
    if not is_qualified(name):
        yield Cause(Why.INVALID, "metadata.labels", "name part must consist of alphanumeric characters", name)
    if len(value) > LONGEST_LABEL:
        yield Cause(Why.INVALID, "metadata.labels", f"must be no more than {LONGEST_LABEL} bytes", value)
    elif value and not QUALIFIED.fullmatch(value):
        yield Cause(Why.INVALID, "metadata.labels", VALUE_WORDS, value)


def is_qualified(name: str) -> bool:
    """Tell whether this is NAME or PREFIX/NAME, as the keys of labels and annotations are."""
    prefix, slash, rest = name.rpartition("/")
    if slash and not (SUBDOMAIN.fullmatch(prefix) and len(prefix) <= LONGEST_NAME):
        return False
    return bool(QUALIFIED.fullmatch(rest)) and len(rest) <= LONGEST_LABEL


def born(metadata: Manifest, *, generation: bool) -> Manifest:
    """Give the metadata of a new object: what only the server may say is said anew."""
    name = metadata.get("name") or generated(metadata.get("generateName", ""))
    own = ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink", "resourceVersion")
    sent = {key: value for key, value in metadata.items() if key not in own}
    made = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
    return {**sent, **made, **({"generation": 1} if generation else {})}


def generated(prefix: str) -> str:
    if not prefix:
        return ""
    room = LONGEST_LABEL - SUFFIX_LENGTH
    return prefix[:room] + "".join(secrets.choice(SUFFIX_LETTERS) for _ in range(SUFFIX_LENGTH))


def continued(metadata: Manifest, before: Manifest) -> Manifest:
    """Give the metadata of a changed object: what only the server may say stays as it was."""
    fixed = (
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "generateName",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    )
    sent = {key: value for key, value in metadata.items() if key not in fixed and value not in ({}, [])}
    return {**sent, **{key: before[key] for key in fixed if key in before}}


def finalizer_faults(metadata: Manifest, before: Manifest) -> Iterator[Cause]:
    added = [name for name in metadata.get("finalizers") or [] if name not in (before.get("finalizers") or [])]
    if before.get("deletionTimestamp") and added:
        words = "no new finalizers can be added if the object is being deleted, found new finalizers "
        listed = ", ".join(f'"{name}"' for name in added)
        yield Cause(Why.FORBIDDEN, "metadata.finalizers", f"{words}[]string{{{listed}}}")
