"""The `paddle-operator` command itself: its help, and the verbs it knows."""

import importlib

import click

# Where each verb is: only that of the one that is called is imported, since all of them together take half a second.
VERBS = {
    "clear-cache": ("clearcache", "clear_cache"),
    "csi-node": ("csi", "csi_node"),
    "delete": ("delete", "delete"),
    "describe": ("describe", "describe"),
    "down": ("down", "down"),
    "get": ("get", "get"),
    "logs": ("logs", "logs"),
    "manager": ("manager", "manager"),
    "manifests": ("manifests", "manifests"),
    "plan": ("plan", "plan"),
    "run": ("run", "run"),
    "runtime-server": ("runtime", "runtime_server"),
    "version": ("version", "version"),
    "wait-for": ("waitfor", "wait_for"),
    "watch": ("watch", "watch"),
}


class Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        module, function = VERBS[cmd_name]
        found: click.Command = getattr(importlib.import_module(f"paddle_operator.cli.{module}"), function)
        return found


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run distributed training on Kubernetes, with its data cached next to the workers."""
