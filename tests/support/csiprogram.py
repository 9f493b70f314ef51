"""The CSI node plugin as a program of the tests: as on a node, but with places of the test's own."""

import logging
import sys
from pathlib import Path

from paddle_operator.cli.csi import told_to_stop
from paddle_operator.csi import plugin
from paddle_operator.csi.places import Places


def main() -> None:
    kubelet, state, process, program, injects, answers_within = sys.argv[1:]
    plugin.ANSWERS_WITHIN = float(answers_within)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    places = Places(Path(kubelet), Path(state))
    plugin.serve(plugin.Settings("node", Path(program), places, int(process), injects == "inject"), told_to_stop())


if __name__ == "__main__":
    main()
