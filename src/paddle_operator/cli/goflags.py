"""Flags as programs in Go take them, so that command lines of the original managers work unchanged."""

from collections.abc import Callable, Iterator, Sequence

import click

YES, NO = ("1", "t", "true"), ("0", "f", "false")
SHORTEST = 3
# How the original managers were told to log; `--verbose` is ours.
IGNORED_FLAGS = ("--development", "--zap-devel")
IGNORED_OPTIONS = ("--zap-encoder", "--zap-log-level", "--zap-stacktrace-level", "--zap-time-encoding")


class GoCommand(click.Command):
    """Takes `-name` for `--name`, and `--flag=true` or `=false` for a flag."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._translated(args)))

    def _translated(self, args: Sequence[str]) -> Iterator[str]:
        flags = {
            name for found in self.params if isinstance(found, click.Option) and found.is_flag for name in found.opts
        }
        for arg in args:
            name, given, value = arg.partition("=")
            if name.startswith("-") and not name.startswith("--") and len(name) >= SHORTEST:
                name = f"-{name}"
            if not given or name not in flags:
                yield f"{name}{given}{value}"
            elif value.lower() in YES:
                yield name
            elif value.lower() not in NO:
                raise click.BadOptionUsage(name, f"{name} is true or false, and not {value!r}")


def ignored_options(command: Callable[..., None]) -> Callable[..., None]:
    """Take, and do nothing with, what has no meaning here."""
    for name in IGNORED_FLAGS:
        command = click.option(name, is_flag=True, hidden=True, expose_value=False)(command)
    for name in IGNORED_OPTIONS:
        command = click.option(name, hidden=True, expose_value=False)(command)
    return command
