"""The program that becomes the CSI plugin when the first volume is asked for; until then it loads nothing."""

import logging
import sys
import threading
from pathlib import Path

NODE = "machine"


def main() -> None:
    """Wait for the name of JuiceFS' program. Our first process is the node's, and has the machine's network."""
    kubelet, state = (Path(word) for word in sys.argv[1:])
    program = sys.stdin.readline().strip()
    if not program:
        return
    from paddle_operator.csi import plugin  # noqa: PLC0415 it takes longer to load than all that a job without data needs
    from paddle_operator.csi.places import Places  # noqa: PLC0415 likewise

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    plugin.serve(plugin.Settings(NODE, Path(program), Places(kubelet, state)), threading.Event())


if __name__ == "__main__":
    main()
