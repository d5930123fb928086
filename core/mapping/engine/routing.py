"""The exceptions by which code of mapping files decides where a job goes.

Files of TPV import them by these names.
"""

from __future__ import annotations


class JobMappingException(Exception):
    """The job cannot be mapped; the text is the reason."""


class JobNotReadyException(Exception):
    """The job is to wait, and to be mapped again later."""


class TryNextDestinationOrFail(Exception):
    """The destination does not take the job; without another destination the job fails."""


class TryNextDestinationOrWait(Exception):
    """The destination does not take the job now; without another destination the job waits."""


class IncompatibleTagsException(Exception):
    """Tags that cannot be combined."""


FLOW_EXCEPTIONS = (
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
