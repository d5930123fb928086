//! System calls: folders listed in big pieces, files opened and looked at.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, RawFd};

use libc::{AT_SYMLINK_NOFOLLOW, S_IFDIR, S_IFMT};

/// A folder is not opened through a symlink: the name was a folder when it was listed.
pub const FOLDER: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
/// To open a named pipe must not wait for a writer.
pub const FILE: i32 = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;

/// Open `path`, which begins at the open folder `folder`.
pub fn open(folder: RawFd, path: &CStr, flags: i32) -> Result<File> {
    // SAFETY: the path ends with a NUL; the new descriptor is owned by nobody else.
    unsafe {
        let fd = libc::openat(folder, path.as_ptr(), flags);
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        Ok(File::from_raw_fd(fd))
    }
}

/// Return the status of `path`, None if it is not there; `flags` may be `AT_SYMLINK_NOFOLLOW`.
pub fn status_at(folder: RawFd, path: &CStr, flags: i32) -> Result<Option<libc::stat>> {
    let mut status = MaybeUninit::uninit();
    // SAFETY: the path ends with a NUL; the status is filled if the call succeeds.
    unsafe {
        if libc::fstatat(folder, path.as_ptr(), status.as_mut_ptr(), flags) == 0 {
            return Ok(Some(status.assume_init()));
        }
    }
    let error = Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => Ok(None),
        _ => Err(error),
    }
}

/// Call `see(name, type, inode)` for all entries of an open folder except `.` and `..`.
pub fn entries(
    folder: RawFd,
    buffer: &mut [u8],
    mut see: impl FnMut(&CStr, u8, u64),
) -> Result<()> {
    const NAME: usize = std::mem::offset_of!(libc::dirent64, d_name);
    loop {
        // SAFETY: the buffer has that many bytes.
        let count = unsafe {
            libc::syscall(libc::SYS_getdents64, folder, buffer.as_mut_ptr(), buffer.len())
        };
        let mut rest = match usize::try_from(count) {
            Ok(0) => return Ok(()),
            Ok(count) => &buffer[..count],
            Err(_) => return Err(Error::last_os_error()),
        };
        while rest.len() > NAME {
            let inode = u64::from_ne_bytes(rest[..8].try_into().expect("8 bytes"));
            let length = usize::from(u16::from_ne_bytes([rest[16], rest[17]]));
            let kind = rest[18];
            let name = CStr::from_bytes_until_nul(&rest[NAME..length]).unwrap_or_default();
            if name != c"." && name != c".." {
                see(name, kind, inode);
            }
            rest = &rest[length..];
        }
    }
}

/// Return the folders in an open folder by name: the first bytes of the name as a number of the same
/// order, which is compared much faster; the place of the name in the bytes; the inode.
pub fn folders(folder: RawFd) -> Result<(Vec<u8>, Vec<(u128, usize, u64)>)> {
    let (mut names, mut found) = (Vec::new(), Vec::new());
    entries(folder, &mut vec![0; 1 << 18], |name, kind, inode| {
        let is_folder = match kind {
            libc::DT_DIR => true,
            libc::DT_UNKNOWN => status_at(folder, name, AT_SYMLINK_NOFOLLOW)
                .is_ok_and(|it| it.is_some_and(|it| it.st_mode & S_IFMT == S_IFDIR)),
            _ => false,
        };
        if is_folder {
            let mut first = [0; 16];
            first.iter_mut().zip(name.to_bytes()).for_each(|(to, byte)| *to = *byte);
            found.push((u128::from_be_bytes(first), names.len(), inode));
            names.extend_from_slice(name.to_bytes_with_nul());
        }
    })?;
    let name = |at: usize| name_at(&names, at);
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1))));
    Ok((names, found))
}

/// Return the name that begins at a place in bytes with a NUL after each name.
pub fn name_at(names: &[u8], at: usize) -> &[u8] {
    CStr::from_bytes_until_nul(&names[at..]).unwrap_or_default().to_bytes()
}

/// How often this thread slept until now, instead of working.
pub fn sleeps() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: all zeros are a valid usage, and the call fills it.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nvcsw
    }
}
