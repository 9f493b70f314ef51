"""A pod of a PaddleJob that proves its environment: each peer, at the address it is told, says who it is."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 90.0
PAUSE = 0.2
LISTS = {
    "PSERVER": "PADDLE_PSERVERS_IP_PORT_LIST",
    "TRAINER": "PADDLE_TRAINER_ENDPOINTS",
    "HETER_TRAINER": "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
}
# Where else somebody is to be found, and who: Gloo's meeting point.
MEETING_POINTS = {"PADDLE_GLOO_HTTP_ENDPOINT": "PSERVER 0"}


def check(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        sys.exit(f"{what} is {found}, not {wanted}")


def answer_at(port: int, name: str, heard: set[str]) -> None:
    """Say our name to whoever tells us theirs."""
    listening = socket.create_server(("", port))

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            with connection:
                heard.add(connection.recv(100).decode())
                connection.sendall(name.encode())

    threading.Thread(target=serve, daemon=True).start()


def ask(endpoint: str, name: str) -> str:
    host, _, port = endpoint.rpartition(":")
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=5) as connection:
                connection.sendall(name.encode())
                return connection.recv(100).decode()
        except OSError as error:
            if time.monotonic() > end:
                sys.exit(f"{endpoint} does not answer: {error}")
            time.sleep(PAUSE)


def peers() -> Iterator[tuple[str, str]]:
    for role, variable in LISTS.items():
        if endpoints := os.environ.get(variable):
            yield from ((f"{role} {number}", endpoint) for number, endpoint in enumerate(endpoints.split(",")))


def main() -> None:
    own = f"{os.environ['TRAINING_ROLE']} {os.environ['PADDLE_TRAINER_ID']}"
    everybody = dict(peers())
    check(os.environ["PADDLE_CURRENT_ENDPOINT"], everybody[own], "PADDLE_CURRENT_ENDPOINT")
    check(f"{os.environ['POD_IP']}:{os.environ['PADDLE_PORT']}", everybody[own], "POD_IP:PADDLE_PORT")
    trainers = [name for name in everybody if name.startswith("TRAINER ")]
    check(os.environ.get("PADDLE_TRAINERS_NUM", "0"), str(len(trainers)), "PADDLE_TRAINERS_NUM")
    heard: set[str] = set()
    answer_at(int(os.environ["PADDLE_PORT"]), own, heard)
    places = {os.environ[name]: who for name, who in MEETING_POINTS.items() if name in os.environ}
    for place in [place for place, who in places.items() if who == own]:
        answer_at(int(place.rpartition(":")[2]), own, set())
    for endpoint, who in [*places.items(), *((place, who) for who, place in everybody.items())]:
        check(ask(endpoint, own), who, f"who answers at {endpoint}")
    end = time.monotonic() + PATIENCE
    while heard < set(everybody):  # whoever ends sooner would not be there for the others
        if time.monotonic() > end:
            sys.exit(f"nobody heard of {set(everybody) - heard}")
        time.sleep(PAUSE)
    sys.stdout.write(f"{own} met {len(everybody)}\n")
    sys.stdout.flush()
    if own.startswith("PSERVER "):
        threading.Event().wait()


if __name__ == "__main__":
    main()
