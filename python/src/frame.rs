//! The tables of a run, handed over through the Arrow C stream interface.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use teda::{Error, Result};
use teda_parquet::arrow::array::{Array, StructArray};
use teda_parquet::arrow::datatypes::{ArrowDataType, Field};
use teda_parquet::arrow::ffi::export_iterator;
use teda_results::frame;

use crate::raised::exception;

/// A table of a run. `polars.DataFrame(table)`, `pyarrow.table(table)` and `pandas.DataFrame.from_arrow(table)` take it
/// without a copy.
#[pyclass(frozen, module = "teda_audit._native")]
pub struct Frame {
    dtype: ArrowDataType,
    /// One per row group of the file.
    parts: Vec<Box<dyn Array>>,
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
        self.parts.iter().map(|part| part.len()).sum()
    }

    fn __repr__(&self) -> String {
        format!("<{} rows of {}>", self.__len__(), self.columns.join(", "))
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
        let field = Field::new("".into(), self.dtype.clone(), false);
        let parts = self.parts.clone().into_iter().map(Ok);
        let stream = export_iterator(Box::new(parts), field);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn read(directory: &std::path::Path, name: &str) -> Result<Frame> {
    let table = frame::read(directory, name)?;
    let columns = table.fields.iter().map(|field| field.name.to_string());
    let columns = columns.collect();
    let dtype = ArrowDataType::Struct(table.fields);
    let part = |columns: Vec<Box<dyn Array>>| {
        let rows = columns.first().map_or(0, |column| column.len());
        StructArray::try_new(dtype.clone(), rows, columns, None)
            .map(StructArray::boxed)
            .map_err(|e| Error::failed(format!("{}: {name}: {e}", directory.display())))
    };
    let parts = table.groups.into_iter().map(part).collect::<Result<_>>()?;
    Ok(Frame {
        dtype,
        parts,
        columns,
    })
}
