"""Strings that must look a certain way, each with the sentence said to whoever wrote another."""

from typing import Annotated

import msgspec

from paddle_operator.api.fields import Rule, at_birth, shape

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_WITH_LETTER_FIRST = "[a-z]([-a-z0-9]*[a-z0-9])?"
# A path's part is anything but "..": one character, two of which one is no dot, or three and more.
PART = r"([^/]|[^/.][^/]|\.[^/.]|[^/]{3,})"
PART_WITHOUT_COLON = PART.replace("/", "/:")
NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
SCHEMES = (
    "bos|s3|hdfs|gs|wasb|oss|cos|ks3|ufile|qingstor|jss|qiniu|b2|space|obs|oos|scw|minio|scs|ibmcos|wasabi|mss|nos|eos"
    "|speedy|ceph|swift|webdav|redis|tikv|file"
)
QUANTITY = rf"^\+?{NUMBER}([KMGTPE]i|[mkMGTPE]|[eE][-+]?[0-9]+)?$"

Label = Annotated[
    str, shape(f"^{LABEL}$", "a name has at most 63 lower-case letters, digits and dashes, no dash at its ends", 63)
]
ObjectName = Annotated[
    str,
    shape(
        rf"^{LABEL}(\.{LABEL})*$",
        "a name has lower-case letters, digits, dashes and dots, and starts and ends with a letter or digit",
        253,
    ),
]
# Deep inside of lists a rule costs the API server more than it takes: these speak in patterns alone.
PlainName = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": 253, "pattern": rf"^{LABEL}(\.{LABEL})*$"})]
PlainPath = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": 1024, "pattern": rf"^(/{PART})+/?$"})]
PortName = Annotated[
    str,
    shape("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a port's name has at most 15 lower-case letters, digits and dashes", 15),
]
AbsolutePath = Annotated[
    str, shape(rf"^(/{PART})+/?$", "must be an absolute path other than / itself, without '..': /like/this", 1024)
]
# Below the data set's root, and never the root itself: what removes data takes these.
DataPath = Annotated[
    str,
    shape(
        rf"^([^/.]|[^/.][^/]|\.[^/.]|[^/]{{3,}})(/{PART})*/?$",
        "must be a path relative to the data set's root, without '..': like/this",
        1024,
    ),
]
CachePath = Annotated[str, shape(rf"^(/{PART})+/?\*?$", "must be an absolute path of a cache, without '..'", 1024)]
CacheDirectories = Annotated[
    str,
    shape(
        rf"^(/{PART_WITHOUT_COLON})+/?(:(/{PART_WITHOUT_COLON})+/?)*$",
        "must be absolute directories, joined by ':': /one:/two",
        1024,
    ),
]
CommaDirectories = Annotated[
    str, shape(r"^/[^,]*(,/[^,]*)*$", "must be absolute directories, joined by ',': /one,/two", 1024)
]
DirectoryName = Annotated[
    str, shape(r"^([^/.]|[^/.][^/]|\.[^/.]|[^/]{3,})$", "must be the name of one directory, without '/'", 255)
]
Quantity = Annotated[str, shape(QUANTITY, "must be a quantity of Kubernetes such as 512Mi, 1Gi or 1.5T", 32)]
# The cost of a rule on a number or a string cannot be bounded, so this one speaks in patterns.
QuantityOrNumber = Annotated[int | str, msgspec.Meta(extra_json_schema={"pattern": QUANTITY})]
DataUri = Annotated[
    str,
    shape(
        rf"^({SCHEMES})://.+$",
        "must be SCHEME://BUCKET.ENDPOINT/PREFIX with a scheme that JuiceFS knows, such as s3, bos, hdfs or file",
        1024,
    ),
]
# What the servers of a SampleSet can copy from besides: a directory of their node, and another claim.
SourceUri = Annotated[
    str,
    shape(
        rf"^(({SCHEMES}|pvc)://.+|local://(/{PART})+/?)$",
        "must be SCHEME://BUCKET.ENDPOINT/PREFIX with a scheme that JuiceFS knows, local:///DIRECTORY or pvc://CLAIM",
        1024,
    ),
]
Location = Annotated[
    str, shape(r"^[a-zA-Z][a-zA-Z0-9+.-]*://.+$", "must be a location with its scheme, such as s3://bucket/path", 1024)
]
Ratio = Annotated[str, shape(r"^(0(\.[0-9]*)?|\.[0-9]+)$", "must be a number from 0 up to, not including, 1", 16)]
TimeZone = Annotated[
    str,
    shape(r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$", "must be a time zone's name such as Asia/Shanghai or Etc/UTC", 64),
]


def cron_field(value: str) -> str:
    item = rf"([*?]|({value})(-({value}))?)(/[1-9][0-9]*)?"
    return f"{item}(,{item})*"


def cron_pattern() -> str:
    fields = (
        "[0-5]?[0-9]",
        "[01]?[0-9]|2[0-3]",
        "0?[1-9]|[12][0-9]|3[01]",
        "0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
        "[0-7]|sun|mon|tue|wed|thu|fri|sat",
    )
    five = " +".join(cron_field(values) for values in fields)
    duration = f"({NUMBER}(ns|us|ms|s|m|h))+"
    return f"(?i)^({five}|@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every {duration})$"


CronSchedule = Annotated[
    str,
    shape(
        cron_pattern(),
        "must be a cron schedule of five fields (minute hour day month weekday) such as '30 2 * * *', or @daily",
        128,
    ),
]


def short_name(longest: int) -> Rule:
    """Bound an object's name, to which its pods' and services' names are added."""
    return Rule(
        at_birth(f"self.metadata.name.size() <= {longest}"),
        f"metadata.name must have at most {longest} characters: the names of what is made for it are longer, up to 63",
    )


def service_name(longest: int) -> tuple[Rule, Rule]:
    """Ask, of an object whose name begins the names of services, for what a service's name must be."""
    letter_first = Rule(
        at_birth(f"self.metadata.name.matches(r'^{LABEL_WITH_LETTER_FIRST}$')"),
        "metadata.name must begin with a letter and have lower-case letters, digits and dashes only:"
        " services are named after it",
    )
    return short_name(longest), letter_first
