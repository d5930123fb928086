//! The reading of directories by several threads, in parts that each thread takes in turn.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use libc::AT_SYMLINK_NOFOLLOW;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::files;
use crate::value::{compact, Distinct};

/// Directories in a part.
const PART: usize = 16;
/// So many parts wake the caller.
const READY: usize = 64;
/// A thread that slept more often than once in this many directories waits for the file system.
const DIRECTORIES_PER_SLEEP: i64 = 4;
/// The stamp of a value file that is not there.
const ABSENT: (i64, i64) = (0, 0);

/// What to read, in the open folder `root`: `Search` in `core/workspace/native.py`.
#[derive(FromPyObject)]
pub struct Search {
    root: RawFd,
    inodes: Vec<u64>,
    pub value_file: Option<Vec<u8>>,
    pub values: bool,
    limit: usize,
    listed: HashMap<Vec<u8>, u64>,
    named: HashMap<Vec<u8>, u64>,
    pub needs: Vec<u64>,
    pub pointers: Vec<String>,
}

/// What to read where.
pub struct Job {
    pub search: Search,
    names: Vec<PyBackedBytes>,
    order: Vec<usize>,
}

impl Job {
    pub fn new(search: Search, names: Vec<PyBackedBytes>) -> Job {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|&at| search.inodes.get(at));
        Job { search, names, order }
    }
}

/// The result for the directories at `places`. `text`, `ends`: values, one after another.
#[derive(Default)]
pub struct Part {
    places: Vec<usize>,
    pub times: Vec<i64>,
    pub sizes: Vec<i64>,
    complete: Vec<u64>,
    pub unsure: Vec<usize>,
    pub codes: Vec<Vec<u32>>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Part {
    /// Return a part for `count` directories that have nothing yet.
    pub fn empty(count: usize, pointers: usize) -> Part {
        Part {
            times: vec![0; count],
            sizes: vec![0; count],
            complete: vec![0; count],
            codes: vec![vec![u32::MAX; count]; pointers],
            ..Part::default()
        }
    }

    /// Enter another part at its places.
    pub fn enter(&mut self, part: &Part) {
        for (at, &place) in part.places.iter().enumerate() {
            self.times[place] = part.times[at];
            self.sizes[place] = part.sizes[at];
            self.complete[place] = part.complete[at];
            for (codes, fresh) in self.codes.iter_mut().zip(&part.codes) {
                codes[place] = fresh[at];
            }
        }
        self.unsure.extend(part.unsure.iter().map(|&at| part.places[at]));
    }

    /// Return the directories in which an action is complete, a bit for each directory.
    pub fn complete(&self, action: usize) -> Vec<u8> {
        let bit = |cell: u8, of: &u64| cell << 1 | (of >> action & 1) as u8;
        self.complete.chunks(8).map(|of| of.iter().rev().fold(0, bit)).collect()
    }

    /// Return the place and the text of each value.
    pub fn texts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let all = starts.zip(&self.ends).map(|(start, end)| &self.text[*start..*end]);
        self.places.iter().copied().zip(all).filter(|(_, text)| !text.is_empty())
    }
}

/// What the threads share: the next part, and the finished ones.
pub struct Shared<'job> {
    job: &'job Job,
    next: AtomicUsize,
    finished: Mutex<Vec<Part>>,
    ready: Condvar,
    pub stop: AtomicBool,
    /// Whether a thread was seen to wait for the file system: more threads then help.
    waits: AtomicBool,
    pub distinct: Vec<Mutex<Distinct>>,
}

impl<'job> Shared<'job> {
    pub fn new(job: &'job Job) -> Shared<'job> {
        Shared {
            job,
            next: AtomicUsize::new(0),
            finished: Mutex::default(),
            ready: Condvar::new(),
            stop: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            distinct: job.search.pointers.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// Return finished parts: several, or the last ones, or after the time `most` what there is.
    pub fn wait(&self, most: Duration) -> Vec<Part> {
        let few =
            |parts: &mut Vec<Part>| parts.is_empty() || (parts.len() < READY && !self.all_taken());
        let parts = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ready.wait_timeout_while(parts, most, few);
        let (mut parts, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *parts)
    }

    fn all_taken(&self) -> bool {
        self.next.load(Relaxed) >= self.job.order.len()
    }

    /// Read one part after another until there are none, with `more` threads if they help.
    pub fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, more: usize) {
        if catch_unwind(AssertUnwindSafe(|| self.read(scope, more))).is_err() {
            self.stop.store(true, Relaxed);
        }
    }

    fn read<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, more: usize) {
        let mut reader = Reader::new(self.job);
        let count = self.job.order.len();
        loop {
            let start = self.next.fetch_add(PART, Relaxed);
            if start >= count {
                return;
            }
            let before = files::sleeps();
            let places = &self.job.order[start..count.min(start + PART)];
            let Some(mut part) = reader.part(places, &self.stop) else {
                return;
            };
            let slow = (files::sleeps() - before) * DIRECTORIES_PER_SLEEP > PART as i64;
            if slow && !self.waits.swap(true, Relaxed) {
                for _ in 0..more {
                    scope.spawn(move || self.work(scope, 0));
                }
            }
            part.codes = reader.codes(&self.distinct);
            let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            finished.push(part);
            if finished.len() >= READY || self.all_taken() {
                self.ready.notify_one();
            }
        }
    }
}

/// One thread's buffers. `pointed`: for each pointer the texts of a part's values.
struct Reader<'job> {
    job: &'job Job,
    listed: Vec<u8>,
    text: Vec<u8>,
    path: Vec<u8>,
    pointed: Vec<Vec<Option<Vec<u8>>>>,
}

impl<'job> Reader<'job> {
    fn new(job: &'job Job) -> Reader<'job> {
        let pointed = vec![Vec::new(); job.search.pointers.len()];
        Reader { job, listed: vec![0; 1 << 15], text: Vec::new(), path: Vec::new(), pointed }
    }

    /// Read the directories at these places; None if the reading is to stop.
    fn part(&mut self, places: &[usize], stop: &AtomicBool) -> Option<Part> {
        let mut part = Part { places: places.to_vec(), ..Part::default() };
        for (at, &place) in places.iter().enumerate() {
            if stop.load(Relaxed) {
                return None;
            }
            let before = part.text.len();
            let (stamp, complete) = self.directory(place, &mut part.text).unwrap_or_else(|| {
                part.text.truncate(before);
                part.unsure.push(at);
                (ABSENT, 0)
            });
            for texts in &mut self.pointed {
                texts.resize(at + 1, None);
            }
            part.times.push(stamp.0);
            part.sizes.push(stamp.1);
            part.complete.push(complete);
            part.ends.push(part.text.len());
        }
        Some(part)
    }

    /// Read one directory: the stamp of its value file, and the actions complete in it.
    ///
    /// None: something is unusual. The value is appended to `into`.
    fn directory(&mut self, at: usize, into: &mut Vec<u8>) -> Option<((i64, i64), u64)> {
        let search = &self.job.search;
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut found = 0;
        let folder = if search.listed.is_empty() {
            path.extend_from_slice(&self.job.names[at]);
            path.push(b'/');
            None
        } else {
            let name = with(&mut path, &self.job.names[at]);
            let folder = files::open(search.root, name, files::FOLDER).ok()?;
            let see = |name: &CStr, _, _| found |= search.listed.get(name.to_bytes()).unwrap_or(&0);
            files::entries(folder.as_raw_fd(), &mut self.listed, see).ok()?;
            path.clear();
            Some(folder)
        };
        // The paths begin at the directory, if it is open, or with its name.
        let start = folder.as_ref().map_or(search.root, AsRawFd::as_raw_fd);
        let found = self.looks(start, &mut path, found).and_then(|complete| {
            let stamp = match &search.value_file {
                Some(file) => self.value(start, with(&mut path, file), into)?,
                None => ABSENT,
            };
            path.clear();
            let name = with(&mut path, &self.job.names[at]);
            let is_there = || files::open(search.root, name, files::FOLDER).is_ok();
            (folder.is_some() || stamp != ABSENT || is_there()).then_some((stamp, complete))
        });
        self.path = path;
        found
    }

    /// Look at products by name; return the complete actions.
    fn looks(&self, start: RawFd, path: &mut Vec<u8>, mut found: u64) -> Option<u64> {
        let before = path.len();
        for (name, bit) in &self.job.search.named {
            if files::status_at(start, with(path, name), AT_SYMLINK_NOFOLLOW).ok()?.is_some() {
                found |= bit;
            }
            path.truncate(before);
        }
        let complete = |need: &u64| *need != 0 && found & need == *need;
        let actions = self.job.search.needs.iter().enumerate();
        Some(actions.map(|(at, need)| u64::from(complete(need)) << at).sum())
    }

    /// Return the stamp of a value file, and append its compact value if it is wanted.
    fn value(&mut self, folder: RawFd, path: &CStr, into: &mut Vec<u8>) -> Option<(i64, i64)> {
        if !self.job.search.values {
            let status = files::status_at(folder, path, 0).ok()?;
            return Some(status.map_or(ABSENT, |status| {
                (nanoseconds(status.st_mtime, status.st_mtime_nsec), status.st_size)
            }));
        }
        let mut file = files::open(folder, path, files::FILE).ok()?;
        // Before the reading: an edit in between leaves a stamp that is older than the file.
        let status = file.metadata().ok()?;
        let size = usize::try_from(status.len()).ok()?;
        if !status.is_file() || size == 0 || size > self.job.search.limit {
            return None;
        }
        self.text.resize(self.text.len().max(size + 1), 0);
        // One byte more than it has: the file may have grown just now.
        if file.read(&mut self.text[..=size]).ok()? != size {
            return None;
        }
        let value = compact(&self.text[..size], into)?;
        for (texts, pointer) in self.pointed.iter_mut().zip(&self.job.search.pointers) {
            texts.push(value.pointer(pointer).and_then(|found| serde_json::to_vec(found).ok()));
        }
        Some((nanoseconds(status.mtime(), status.mtime_nsec()), status.size() as i64))
    }

    /// Return the codes of the part's values for each pointer.
    fn codes(&mut self, distinct: &[Mutex<Distinct>]) -> Vec<Vec<u32>> {
        let coded = |(texts, distinct): (&mut Vec<Option<Vec<u8>>>, &Mutex<Distinct>)| {
            let mut known = distinct.lock().unwrap_or_else(PoisonError::into_inner);
            texts.drain(..).map(|text| text.map_or(u32::MAX, |text| known.code(&text))).collect()
        };
        self.pointed.iter_mut().zip(distinct).map(coded).collect()
    }
}

/// Append a path to the path of a directory.
fn with<'path>(path: &'path mut Vec<u8>, more: &[u8]) -> &'path CStr {
    path.extend_from_slice(more);
    path.push(0);
    CStr::from_bytes_until_nul(path).unwrap_or_default()
}

fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds * 1_000_000_000 + more
}
