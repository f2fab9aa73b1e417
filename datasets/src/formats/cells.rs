//! What the columns of Parquet hold, and their fields row by row.

use std::iter;

use polars::prelude::{ArrowDataType, DataFrame, DataType, PolarsResult};

use crate::intake::{Field, Value};

/// What a column holds, as far as it is relevant here.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Number,
    /// Only nulls: the column has no type.
    Null,
    /// Something that is not needed, or that polars is not built to read here, such as decimal numbers.
    Other,
}

impl Kind {
    /// The kind of a column with this type.
    pub(super) fn of(column: &ArrowDataType) -> Self {
        match column {
            ArrowDataType::Utf8View => Self::Text,
            ArrowDataType::Int32
            | ArrowDataType::Int64
            | ArrowDataType::UInt32
            | ArrowDataType::UInt64
            | ArrowDataType::Float32
            | ArrowDataType::Float64 => Self::Number,
            ArrowDataType::Null => Self::Null,
            _ => Self::Other,
        }
    }

    /// Whether the values must be read to know them.
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Text | Self::Number)
    }
}

/// The fields of one column. For a column that is not read, the iterator never ends.
pub(super) type Cells<'a> = Box<dyn Iterator<Item = Field<'a>> + 'a>;

/// The fields of the column with this name and kind; `frame` has the columns that were read.
///
/// # Errors
/// The error of polars, if `frame` lacks the column.
pub(super) fn cells<'a>(
    frame: &'a DataFrame,
    column: Option<&'a (String, Kind)>,
) -> PolarsResult<Cells<'a>> {
    let Some((name, kind)) = column else {
        return Ok(Box::new(iter::repeat(Field::MISSING)));
    };
    let field = move |value| Field { name, value };
    let text = move |text: Option<&'a str>| field(text.map_or(Value::Null, Value::Text));
    let number = move |number: Option<f64>| field(number.map_or(Value::Null, Value::Number));
    Ok(match kind {
        Kind::Text => Box::new(frame.column(name)?.str()?.iter().map(text)),
        Kind::Number => {
            let numbers = frame.column(name)?.cast(&DataType::Float64)?;
            let numbers: Vec<Option<f64>> = numbers.f64()?.iter().collect();
            Box::new(numbers.into_iter().map(number))
        }
        Kind::Null => Box::new(iter::repeat(field(Value::Null))),
        Kind::Other => Box::new(iter::repeat(field(Value::Other(
            "of a type that is not read (read are strings, and numbers of 32 and 64 bits)",
        )))),
    })
}
