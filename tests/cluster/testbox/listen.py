"""A pod of a PaddleJob that does nothing, for ever; as Paddle's servers do, it listens at its port."""

import os
import socket
import threading

if __name__ == "__main__":
    listening = socket.create_server(("", int(os.environ["PADDLE_PORT"])))
    threading.Event().wait()
