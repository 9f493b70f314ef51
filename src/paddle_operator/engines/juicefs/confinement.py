"""A program that can write below some directories only, whatever symbolic links lead out of them; it needs no right."""

import ctypes
import os
import struct
import sys
from collections.abc import Sequence

# Landlock's calls have the same numbers on all machines.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH, NO_NEW_PRIVILEGES = 1, 1, 38
WRITE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 13, 1 << 14
# Removing files and directories, and making them, and whatever else a directory can have.
CHANGE_DIRECTORY = sum(1 << bit for bit in range(4, 13))
# Where programs write what nobody reads.
NOWHERE = "/dev/null"
END = "--"


def confined(argv: Sequence[str], directories: Sequence[str]) -> tuple[str, ...]:
    """Give the command line by which a program runs confined: this very file, without anything else of ours."""
    return (sys.executable, "-S", "-E", "-P", __file__, *directories, END, *argv)


def version() -> int:
    """Give the version of Landlock; 0 if the kernel has none, and then nobody is confined."""
    try:
        return system_call(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def confine(directories: Sequence[str]) -> None:
    """Give up, for good, to write anywhere but below these directories."""
    known = version()
    if not known:
        return
    file_rights = WRITE_FILE | (TRUNCATE if known >= 3 else 0)  # noqa: PLR2004 the version that has it
    rights = file_rights | CHANGE_DIRECTORY | (REFER if known >= 2 else 0)  # noqa: PLR2004 the version that has it
    rules = system_call(CREATE_RULESET, struct.pack("Q", rights), 8, 0)
    for path, allowed in [*((path, rights) for path in directories), (NOWHERE, file_rights)]:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        system_call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    system_call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    widened = [ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word) for word in arguments]
    result = int(library.syscall(ctypes.c_long(number), *widened))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    end = sys.argv.index(END)
    confine(sys.argv[1:end])
    os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])  # noqa: S606 the point of it
