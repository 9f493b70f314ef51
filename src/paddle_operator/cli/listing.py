"""Objects as YAML, for people to read and for kubectl to apply."""

import yaml

from paddle_operator.api.manifest import Manifest


class Dumper(yaml.SafeDumper):
    """Write out what is there twice: a reference to the other place saves nobody anything."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # the same for all
        return True


def text(objects: list[Manifest]) -> str:
    return yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
