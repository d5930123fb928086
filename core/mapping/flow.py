"""The exceptions by which code of mapping files says where a job goes.

The names are those that TPV's files import.
"""

from __future__ import annotations


class JobMappingException(Exception):
    """The job cannot be mapped; the text says why."""


class JobNotReadyException(Exception):
    """The job is to wait, and be mapped again later."""


class TryNextDestinationOrFail(Exception):
    """The destination does not take the job; without another one it fails."""


class TryNextDestinationOrWait(Exception):
    """The destination does not take the job now; without another one it waits."""


class IncompatibleTagsException(Exception):
    """Tags that cannot be combined."""


FLOW_EXCEPTIONS = (
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
