"""A program that can write or read below some directories only, whatever symbolic links lead out; it needs no right."""

import ctypes
import os
import shutil
import stat
import struct
import sys
from collections.abc import Sequence

# Landlock's calls have the same numbers on all machines.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH, NO_NEW_PRIVILEGES = 1, 1, 38
WRITE_FILE, READ_FILE, READ_DIRECTORY, REFER, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 13, 1 << 14
# Removing files and directories, and making them, and whatever else a directory can have.
CHANGE_DIRECTORY = sum(1 << bit for bit in range(4, 13))
# Where programs write what nobody reads.
NOWHERE = "/dev/null"
# What it takes for any program to begin, and to know users by their names.
ANYBODYS = (
    *("/bin", "/lib", "/lib64", "/usr", "/etc/ld.so.cache"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf"),
)
END = "--"


def confined(argv: Sequence[str], writable: Sequence[str], readable: Sequence[str] = ()) -> tuple[str, ...]:
    """Give the command line by which a program runs confined: this very file, without anything else of ours.

    With directories that are readable, those that are writable and they are all that it can read.
    """
    return (sys.executable, "-S", "-E", "-P", __file__, *writable, END, *readable, END, *argv)


def version() -> int:
    """Give the version of Landlock; 0 if the kernel has none, and then nobody is confined."""
    try:
        return system_call(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def confine(writable: Sequence[str], readable: Sequence[str] = ()) -> None:
    """Give up, for good, to write anywhere but below some directories, and to read, if it is said what may be read."""
    known = version()
    if not known:
        return
    reading = READ_FILE | READ_DIRECTORY if readable else 0
    file_rights = WRITE_FILE | (TRUNCATE if known >= 3 else 0)  # noqa: PLR2004 the version that has it
    rights = file_rights | CHANGE_DIRECTORY | (REFER if known >= 2 else 0)  # noqa: PLR2004 the version that has it
    rules = system_call(CREATE_RULESET, struct.pack("Q", rights | reading), 8, 0)
    for path in writable:
        allow(rules, path, rights | reading)
    allow(rules, NOWHERE, file_rights | reading)
    for path in readable:
        allow(rules, path, reading)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    system_call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def allow(rules: int, path: str, rights: int) -> None:
    """Allow something below a directory, or with a file: what only directories have, it has not."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    is_directory = stat.S_ISDIR(os.fstat(place).st_mode)
    allowed = rights if is_directory else rights & (WRITE_FILE | READ_FILE | TRUNCATE)
    system_call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
    os.close(place)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    widened = [ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word) for word in arguments]
    result = int(library.syscall(ctypes.c_long(number), *widened))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main(words: Sequence[str]) -> None:
    first = words.index(END)
    second = words.index(END, first + 1)
    writable, readable, argv = words[:first], words[first + 1 : second], words[second + 1 :]
    # Python itself reads nothing any more once it is confined.
    program = shutil.which(argv[0]) or argv[0]
    needed = [path for path in (*ANYBODYS, program) if os.path.exists(path)]  # noqa: PTH110 without pathlib, it is quick
    confine(writable, [*readable, *needed] if readable else ())
    os.execv(program, list(argv))  # noqa: S606 the point of it


if __name__ == "__main__":
    main(sys.argv[1:])
