//! The tables of a run, handed over through the Arrow C stream interface.

use std::path::PathBuf;

use polars::prelude::CompatLevel;
use polars_arrow::array::{Array, StructArray};
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::ffi::export_iterator;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use teda::{Error, Result};
use teda_results::frame;

use crate::raised::exception;

/// A table of a run. `polars.DataFrame(table)`, `pyarrow.table(table)` and `pandas.DataFrame.from_arrow(table)` take it
/// without a copy.
#[pyclass(frozen, module = "teda_audit._native")]
pub struct Frame {
    array: Box<dyn Array>,
    columns: Vec<String>,
}

#[pymethods]
impl Frame {
    /// The table in the file named `name` of the run in `directory`.
    #[new]
    fn new(py: Python<'_>, directory: PathBuf, name: &str) -> PyResult<Self> {
        py.detach(|| read(&directory, name))
            .map_err(|error| exception(py, &error))
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("<{} rows of {}>", self.array.len(), self.columns.join(", "))
    }

    /// The rows as a stream of the Arrow C interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Another schema is granted where it can be, says the specification.
        drop(requested_schema);
        let field = Field::new("".into(), self.array.dtype().clone(), false);
        let once = std::iter::once(Ok(self.array.clone()));
        let stream = export_iterator(Box::new(once), field);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn read(directory: &std::path::Path, name: &str) -> Result<Frame> {
    let table = frame::read(directory, name)?;
    let level = CompatLevel::newest();
    let fields: Vec<Field> = table
        .columns()
        .iter()
        .map(|column| column.field().to_arrow(level))
        .collect();
    let columns = table.columns().iter().map(|column| {
        let whole = column.as_materialized_series().rechunk();
        whole.to_arrow(0, level)
    });
    let array = StructArray::try_new(
        ArrowDataType::Struct(fields),
        table.height(),
        columns.collect(),
        None,
    )
    .map_err(|e| Error::failed(format!("{}: {name}: {e}", directory.display())))?;
    let names = table
        .columns()
        .iter()
        .map(|column| column.name().to_string());
    Ok(Frame {
        array: array.boxed(),
        columns: names.collect(),
    })
}
