//! The reading of workspaces, for rowtui; `core/workspace/native.py` is its only caller.
//!
//! Nothing here decides what a fault means. A directory with anything unusual (it vanished, it has
//! no value file, its value is no JSON) is returned as unsure, and rowtui reads it by itself.

mod files;
mod reader;
mod value;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use reader::{Job, Part, Search, Shared};

/// The time after which signals are looked at and progress is told, though nothing is ready.
const PAUSE: Duration = Duration::from_millis(100);

/// Return the names of the folders in the open folder `fd`, and their inodes (8 bytes each).
#[pyfunction]
fn folders<'py>(py: Python<'py>, fd: i32) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
    let (names, inodes) = py
        .detach(|| files::folders(fd))
        .map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string())))?;
    let list = PyList::empty(py);
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        list.append(PyBytes::new(py, name))?;
    }
    Ok((list, as_bytes(py, &inodes, |inode| inode.to_ne_bytes())))
}

type Columns<'py> = Vec<(Vec<Bound<'py, PyBytes>>, Bound<'py, PyBytes>)>;

/// (values, times, sizes, complete, unsure, columns); see `read`.
type Reading<'py> = (
    Bound<'py, PyList>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<Bound<'py, PyBytes>>,
    Vec<usize>,
    Columns<'py>,
);

/// Read directories in several threads, at most `threads`.
///
/// `names` are in the open folder `root`. `search`: the value file's path in each of them; whether
/// its content is wanted, or only its stamp; the most bytes that it may have; the paths of products;
/// for each action the bits of its products (0: never complete); and JSON pointers.
/// `tell(count)` is called with the number of directories read.
///
/// Returned are, aligned to `names`: the compact values (None where there is none); the times
/// (8 bytes each, ns) and sizes of the value files, 0 where there is no file; for each action the
/// bits of the directories where it is complete; the positions of unsure directories; and for each
/// pointer its distinct values as JSON, and for each directory the code of its value (4 bytes).
#[pyfunction]
fn read<'py>(
    py: Python<'py>,
    root: i32,
    names: Vec<Bound<'py, PyBytes>>,
    search: Search,
    threads: usize,
    tell: Bound<'py, PyAny>,
) -> PyResult<Reading<'py>> {
    let count = names.len();
    let texts = search.0.is_some() && search.1;
    let job = Job::new(root, names.iter().map(|name| name.as_bytes()), search);
    let shared = Shared::new(&job);
    let list = PyList::empty(py);
    if texts {
        for _ in 0..count {
            list.append(py.None())?;
        }
    }
    let mut found = Found::new(&job, count);
    let few = threads.clamp(1, thread::available_parallelism().map_or(2, usize::from));
    thread::scope(|scope| -> PyResult<()> {
        for _ in 0..few {
            scope.spawn(|| shared.work());
        }
        let (mut done, mut more) = (0, threads.saturating_sub(few));
        while done < count {
            for part in py.detach(|| shared.wait(PAUSE)) {
                done += part.times.len();
                if texts {
                    for (at, text) in part.texts() {
                        list.set_item(part.start + at, PyBytes::new(py, text))?;
                    }
                }
                found.enter(&part);
            }
            let told = py.check_signals().and_then(|()| tell.call1((done,)));
            if let Err(error) = told {
                shared.stop.store(true, Relaxed);
                return Err(error);
            }
            if shared.waits.load(Relaxed) {
                for _ in 0..std::mem::take(&mut more) {
                    scope.spawn(|| shared.work());
                }
            }
        }
        Ok(())
    })?;
    let columns = std::mem::take(&mut found.codes)
        .iter()
        .zip(&shared.distinct)
        .map(|(codes, distinct)| {
            let known = distinct.lock().unwrap_or_else(PoisonError::into_inner);
            let kinds = known.texts().map(|text| PyBytes::new(py, text)).collect();
            (kinds, as_bytes(py, codes, |code| code.to_ne_bytes()))
        })
        .collect();
    found.unsure.sort_unstable();
    Ok((
        list,
        as_bytes(py, &found.times, |time| time.to_ne_bytes()),
        as_bytes(py, &found.sizes, |size| size.to_ne_bytes()),
        found.complete.iter().map(|bits| PyBytes::new(py, bits)).collect(),
        found.unsure,
        columns,
    ))
}

/// What was found until now, as columns aligned to the names.
struct Found {
    times: Vec<i64>,
    sizes: Vec<i64>,
    complete: Vec<Vec<u8>>,
    unsure: Vec<usize>,
    codes: Vec<Vec<u32>>,
}

impl Found {
    fn new(job: &Job, count: usize) -> Found {
        Found {
            times: vec![0; count],
            sizes: vec![0; count],
            complete: vec![vec![0; count.div_ceil(8)]; job.needs.len()],
            unsure: Vec::new(),
            codes: vec![vec![u32::MAX; count]; job.pointers.len()],
        }
    }

    fn enter(&mut self, part: &Part) {
        let (start, stop) = (part.start, part.start + part.times.len());
        self.times[start..stop].copy_from_slice(&part.times);
        self.sizes[start..stop].copy_from_slice(&part.sizes);
        for (at, actions) in part.complete.iter().enumerate() {
            let mut rest = *actions;
            while rest != 0 {
                let action = rest.trailing_zeros() as usize;
                self.complete[action][(start + at) >> 3] |= 1 << ((start + at) & 7);
                rest &= rest - 1;
            }
        }
        self.unsure.extend(part.unsure.iter().map(|at| start + at));
        for (codes, fresh) in self.codes.iter_mut().zip(&part.codes) {
            codes[start..stop].copy_from_slice(fresh);
        }
    }
}

fn as_bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    cells: &[T],
    write: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let data: Vec<u8> = cells.iter().flat_map(|&cell| write(cell)).collect();
    PyBytes::new(py, &data)
}

#[pymodule]
fn rowtui_fast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", 1)?;
    module.add_function(wrap_pyfunction!(folders, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)
}
