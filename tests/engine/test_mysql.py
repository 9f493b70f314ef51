"""A MySQL that holds a volume's metadata: JuiceFS gives it the password, and nobody else."""

import os
import socket
import struct
import subprocess
import threading
from pathlib import Path

from paddle_operator.engines.juicefs import flags
from paddle_operator.engines.juicefs.volume import read_volume
from support import juicefs

PASSWORD = "planted@secret"  # noqa: S105 the one that is looked for
# Protocol 10, a version, a thread, half of a salt, abilities; then the rest, and that passwords are taken as they are.
GREETING = (
    b"\x0a5.7.30\0" + struct.pack("<I", 1) + b"12345678\0" + struct.pack("<HBHHB", 0xF7FF, 33, 2, 0x000F, 21)
    + bytes(10) + b"123456789012\0mysql_clear_password\0"
)  # fmt: skip


def greet(server: socket.socket, heard: list[bytes]) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(struct.pack("<I", len(GREETING)) + GREETING)
        heard.append(connection.recv(1000))


def test_a_mysql_is_given_the_password_which_is_not_among_the_arguments(tmp_path: Path) -> None:
    juicefs.require()
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=greet, args=(server, heard), daemon=True).start()
        port = server.getsockname()[1]
        metaurl = f"mysql://me:{PASSWORD}@(127.0.0.1:{port})/db?allowCleartextPasswords=1"
        secret = {"name": "demo", "storage": "file", "bucket": f"{tmp_path}/", "metaurl": metaurl}
        version = flags.parse_version(subprocess.check_output([juicefs.PROGRAM, "--version"], text=True))
        made = flags.format_volume(version, read_volume(secret))
        words, environment = [str(juicefs.PROGRAM), *made.argv[1:]], {**os.environ, **made.secrets}
        subprocess.run(words, env=environment, capture_output=True, timeout=30, check=False)
    assert PASSWORD not in " ".join(made.argv)
    assert f"me\0{chr(len(PASSWORD) + 1)}{PASSWORD}\0".encode() in heard[0]
