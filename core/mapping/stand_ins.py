"""What expressions see where TPV shows Galaxy's objects."""

from __future__ import annotations


class JobMappingException(Exception):
    """The job cannot be mapped."""


class JobNotReadyException(Exception):
    """Not yet."""


class TryNextDestinationOrFail(Exception):
    """This destination does not take the job."""


class TryNextDestinationOrWait(Exception):
    """This destination does not take the job now."""


class IncompatibleTagsException(Exception):
    """Tags that cannot be combined."""


FLOW_EXCEPTIONS = (
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
