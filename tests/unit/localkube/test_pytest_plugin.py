"""The plug-in disturbs nobody who has it installed and does not use it."""

import subprocess
import sys

WITHOUT_EXTRAS = "import sys; sys.modules['cryptography'] = None; import localkube.pytest_plugin"


def test_it_loads_where_nothing_but_the_operator_is_installed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], check=True)
