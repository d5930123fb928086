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

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use pyo3::IntoPyObjectExt;

use reader::{Job, Part, Search, Shared};

/// The time after which signals are looked at and progress is told, though nothing is ready.
const PAUSE: Duration = Duration::from_millis(100);

/// Return the sorted names of the folders in the open folder `fd`, and their inodes (8 bytes each).
#[pyfunction]
fn folders<'py>(py: Python<'py>, fd: i32) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
    let (names, found) = py
        .detach(|| files::folders(fd))
        .map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string())))?;
    let name = |it: &(u128, usize, u64)| PyBytes::new(py, files::name_at(&names, it.1));
    let list = PyList::new(py, found.iter().map(name))?;
    Ok((list, as_bytes(py, &found, |(_, _, inode)| inode.to_ne_bytes())))
}

/// Read directories in several threads, at most `threads`.
///
/// `tell(count)` is called with how many have been read. Returned are, aligned to `names`: compact values (None where there is none); times (8 bytes
/// each, ns) and sizes of the value files, 0 where there is no file; for each action the set of
/// complete directories (a bit each); for each pointer its distinct values as JSON, and a code for
/// each directory (4 bytes); and the positions of unsure directories.
#[pyfunction]
fn read<'py>(
    py: Python<'py>,
    names: Vec<PyBackedBytes>,
    search: Search,
    threads: usize,
    tell: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let count = names.len();
    let texts = search.value_file.is_some() && search.values;
    let job = Job::new(search, names);
    let shared = Shared::new(&job);
    let list = PyList::empty(py);
    if texts {
        for _ in 0..count {
            list.append(py.None())?;
        }
    }
    let mut whole = Part::empty(count, job.search.pointers.len());
    let few = threads.clamp(1, thread::available_parallelism().map_or(2, usize::from));
    thread::scope(|scope| -> PyResult<()> {
        for _ in 0..few {
            scope.spawn(|| shared.work(scope, threads.saturating_sub(few)));
        }
        let mut done = 0;
        while done < count {
            for part in py.detach(|| shared.wait(PAUSE)) {
                done += part.times.len();
                for (at, text) in part.texts() {
                    list.set_item(at, PyBytes::new(py, text))?;
                }
                whole.enter(&part);
            }
            let told = py.check_signals().and_then(|()| tell.call1((done,)));
            if let Err(error) = told {
                shared.stop.store(true, Relaxed);
                return Err(error);
            }
            if shared.stop.load(Relaxed) {
                return Err(PyRuntimeError::new_err("a thread that read directories failed"));
            }
        }
        Ok(())
    })?;
    let columns = whole.codes.iter().zip(&shared.distinct).map(|(codes, distinct)| {
        let known = distinct.lock().unwrap_or_else(PoisonError::into_inner);
        let texts: Vec<_> = known.texts().map(|text| PyBytes::new(py, text)).collect();
        (texts, as_bytes(py, codes, |code| code.to_ne_bytes()))
    });
    let sets = (0..job.search.needs.len()).map(|at| PyBytes::new(py, &whole.complete(at)));
    let complete: Vec<_> = sets.collect();
    whole.unsure.sort_unstable();
    (
        list,
        as_bytes(py, &whole.times, |time| time.to_ne_bytes()),
        as_bytes(py, &whole.sizes, |size| size.to_ne_bytes()),
        complete,
        columns.collect::<Vec<_>>(),
        whole.unsure,
    )
        .into_bound_py_any(py)
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
    module.add("VERSION", 2)?;
    module.add_function(wrap_pyfunction!(folders, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)
}
