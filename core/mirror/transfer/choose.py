"""Choose the best way of copying files that a transport and both ends support."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.mirror.transfer.plain_files import PlainFiles
from rowtui.core.mirror.transfer.rsync_files import RsyncFiles, rsync_there
from rowtui.core.mirror.transfer.streams import HasConnection

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.transfer.files import FileTransfer


async def files_for(transport: Transport, root: Path, there: str, where: str) -> FileTransfer:
    """Choose rsync if both ends have it, else SFTP if the connection offers it, else commands.

    `there`: the absolute path of the copy on the cluster called `where`.
    """
    version = await rsync_there(transport)
    if version is not None:
        return RsyncFiles(root, transport, there, where, remote_version=version)
    if isinstance(transport, HasConnection) and await _offers_sftp(transport):
        from rowtui.core.mirror.transfer.sftp_files import SftpFiles

        return SftpFiles(root, transport, there, where)
    return PlainFiles(root, transport, there, where)


async def _offers_sftp(transport: Transport) -> bool:
    import asyncssh
    from rowtui.core.mirror.transfer.sftp_files import open_sftp

    try:
        async with open_sftp(transport):
            return True
    except (asyncssh.Error, OSError, RowtuiError):
        return False
