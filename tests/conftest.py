"""Fixtures that every test may use."""

import os
import signal

from hypothesis import settings

pytest_plugins = [
    "tests.rig.fixtures",
    "tests.rig.accounting_fixtures",
    "tests.rig.grid_engine_fixtures",
]

# No deadlines: a busy machine is not a defect. Continuous integration draws the same examples
# each time, so that what fails there fails here.
settings.register_profile("suite", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("suite")

# Queues are asked whenever somebody wants to know: the tests' clusters are nobody else's.
os.environ["ROWTUI_POLL"] = "0"

# Started in the background, a shell ignores interrupts (and below nohup hang-ups), and so would
# every process that the tests start: bash cannot even trap a signal ignored from its beginning.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
