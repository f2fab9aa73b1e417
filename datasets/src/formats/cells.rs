//! What the columns of Parquet hold, and their fields row by row.

use std::iter;

use teda_parquet::arrow::array::{Array, PrimitiveArray, Utf8ViewArray};
use teda_parquet::arrow::datatypes::ArrowDataType;
use teda_parquet::arrow::types::NativeType;
use teda_parquet::typed;

use crate::intake::{Field, Value};

/// What a column holds, as far as it is relevant here.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Number,
    /// Only nulls: the column has no type.
    Null,
    /// Something that is not needed, or that is not read here, such as decimal numbers.
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

/// The fields of the column with this name and kind; `values` are those that were read.
///
/// # Errors
/// If they are of another type than the column.
pub(super) fn cells<'a>(
    column: Option<&'a (String, Kind)>,
    values: Option<&'a dyn Array>,
) -> teda_parquet::Result<Cells<'a>> {
    let Some((name, kind)) = column else {
        return Ok(Box::new(iter::repeat(Field::MISSING)));
    };
    let field = move |value| Field { name, value };
    let text = move |text: Option<&'a str>| field(text.map_or(Value::Null, Value::Text));
    let number = move |number: Option<f64>| field(number.map_or(Value::Null, Value::Number));
    Ok(match (kind, values) {
        (Kind::Text, Some(values)) => {
            Box::new(typed::<Utf8ViewArray>(name, values)?.iter().map(text))
        }
        (Kind::Number, Some(values)) => Box::new(numbers(name, values)?.map(number)),
        (Kind::Null, _) => Box::new(iter::repeat(field(Value::Null))),
        _ => Box::new(iter::repeat(field(Value::Other(
            "of a type that is not read (read are strings, and numbers of 32 and 64 bits)",
        )))),
    })
}

/// The numbers of a column, `None` for a null.
type Numbers<'a> = Box<dyn Iterator<Item = Option<f64>> + 'a>;

/// Numbers as double precision, rounded where they are integers beyond 2⁵³.
fn numbers<'a>(name: &str, values: &'a dyn Array) -> teda_parquet::Result<Numbers<'a>> {
    fn of<'a, T: NativeType>(
        name: &str,
        values: &'a dyn Array,
        double: fn(T) -> f64,
    ) -> teda_parquet::Result<Numbers<'a>> {
        let numbers = typed::<PrimitiveArray<T>>(name, values)?.iter();
        Ok(Box::new(
            numbers.map(move |number| number.copied().map(double)),
        ))
    }
    match values.dtype() {
        ArrowDataType::Int32 => of::<i32>(name, values, f64::from),
        ArrowDataType::Int64 => of::<i64>(name, values, |number| number as f64),
        ArrowDataType::UInt32 => of::<u32>(name, values, f64::from),
        ArrowDataType::UInt64 => of::<u64>(name, values, |number| number as f64),
        ArrowDataType::Float32 => of::<f32>(name, values, f64::from),
        _ => of::<f64>(name, values, |number| number),
    }
}
