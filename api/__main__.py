"""`python -m rowtui` is the program `rowtui`."""

import sys

from rowtui.cli.main import start

if __name__ == "__main__":
    sys.exit(start())
