//! Rows as columns: gathered until a row group is full, and read from one.

use std::io::{Read, Seek};

use teda_core::{Cause, Reading, Recalled};
use teda_parquet::arrow::array::{
    Array, BooleanArray, ListArray, MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray,
};
use teda_parquet::arrow::datatypes::{ArrowDataType, Field};
use teda_parquet::arrow::offset::{Offsets, OffsetsBuffer};
use teda_parquet::arrow::types::NativeType;
use teda_parquet::{Broken, Footer, Result, typed};

use crate::Row;

/// The columns and their types.
pub(crate) fn types(reads: bool) -> Vec<(&'static str, ArrowDataType)> {
    use ArrowDataType::{Boolean, Float64, UInt32, UInt64, Utf8View};
    let mut types = vec![
        ("cell", UInt32),
        ("trial", UInt64),
        ("candidates", list(UInt32)),
        ("secret", UInt32),
        ("release", Utf8View),
        ("guess", UInt32),
        ("hit", Boolean),
        ("margin", Float64),
        ("log_likelihoods", list(Float64)),
        ("error", Utf8View),
        ("cause", Utf8View),
    ];
    if reads {
        types.extend([("reconstruction", Utf8View), ("recalled", list(UInt32))]);
    }
    types
}

fn list(of: ArrowDataType) -> ArrowDataType {
    ArrowDataType::LargeList(Box::new(Field::new("item".into(), of, true)))
}

/// Strings being gathered.
type Strings = MutableBinaryViewArray<str>;

/// Lists of numbers being gathered.
#[derive(Default)]
struct Lists<T> {
    lengths: Vec<usize>,
    values: Vec<T>,
}

impl<T: NativeType> Lists<T> {
    fn push(&mut self, list: &[T]) {
        self.lengths.push(list.len());
        self.values.extend_from_slice(list);
    }

    fn into_array(self) -> Result<Box<dyn Array>> {
        let values = PrimitiveArray::from_vec(self.values);
        let offsets = Offsets::try_from_lengths(self.lengths.into_iter()).map_err(Broken::new)?;
        let dtype = list(values.dtype().clone());
        Ok(ListArray::<i64>::new(dtype, offsets.into(), values.boxed(), None).boxed())
    }
}

/// The rows of the next group, column by column.
#[derive(Default)]
pub(crate) struct Gathered {
    cell: Vec<u32>,
    trial: Vec<u64>,
    candidates: Lists<u32>,
    secret: Vec<u32>,
    release: Strings,
    guess: Vec<u32>,
    hit: Vec<bool>,
    margin: Vec<f64>,
    log_likelihoods: Lists<f64>,
    error: Strings,
    cause: Strings,
    reconstruction: Strings,
    recalled: Lists<u32>,
    text: usize,
}

impl Gathered {
    pub(crate) fn rows(&self) -> usize {
        self.cell.len()
    }

    /// Bytes of all texts.
    pub(crate) fn text(&self) -> usize {
        self.text
    }

    pub(crate) fn push(&mut self, row: Row) {
        let reading = row.reading.as_ref();
        let texts = [row.error.as_ref(), reading.map(|reading| &reading.text)];
        self.text +=
            row.release.len() + texts.into_iter().flatten().map(String::len).sum::<usize>();
        self.cell.push(row.cell);
        self.trial.push(row.trial);
        self.candidates.push(&row.candidates);
        self.secret.push(row.secret);
        self.release.push_value(&row.release);
        self.guess.push(row.guess);
        self.hit.push(row.hit);
        self.margin.push(row.margin);
        self.log_likelihoods.push(&row.log_likelihoods);
        self.error.push(row.error.as_deref());
        self.cause.push(row.cause.map(Cause::name));
        self.reconstruction
            .push(reading.map(|reading| &reading.text));
        let numbers = reading.map(|reading| {
            let of = |r: Recalled| [r.source, r.release, r.text];
            [of(reading.words), of(reading.rare)].concat()
        });
        self.recalled.push(&numbers.unwrap_or_default());
    }

    /// The columns of [`types`].
    pub(crate) fn into_arrays(self, reads: bool) -> Result<Vec<Box<dyn Array>>> {
        let mut columns = vec![
            PrimitiveArray::from_vec(self.cell).boxed(),
            PrimitiveArray::from_vec(self.trial).boxed(),
            self.candidates.into_array()?,
            PrimitiveArray::from_vec(self.secret).boxed(),
            self.release.freeze().boxed(),
            PrimitiveArray::from_vec(self.guess).boxed(),
            BooleanArray::from_slice(self.hit).boxed(),
            PrimitiveArray::from_vec(self.margin).boxed(),
            self.log_likelihoods.into_array()?,
            self.error.freeze().boxed(),
            self.cause.freeze().boxed(),
        ];
        if reads {
            columns.push(self.reconstruction.freeze().boxed());
            columns.push(self.recalled.into_array()?);
        }
        Ok(columns)
    }
}

/// Lists of numbers that were read.
struct StoredLists<T: NativeType> {
    offsets: OffsetsBuffer<i64>,
    values: PrimitiveArray<T>,
}

impl<T: NativeType> StoredLists<T> {
    fn of(name: &str, column: &dyn Array) -> Result<Self> {
        let lists: &ListArray<i64> = without_nulls(name, column)?;
        let values: &PrimitiveArray<T> = without_nulls(name, &**lists.values())?;
        Ok(Self {
            offsets: lists.offsets().clone(),
            values: values.clone(),
        })
    }

    fn get(&self, row: usize) -> &[T] {
        let (start, end) = self.offsets.start_end(row);
        &self.values.values()[start..end]
    }
}

/// The rows of a group that was read, column by column.
pub(crate) struct Stored {
    cell: PrimitiveArray<u32>,
    trial: PrimitiveArray<u64>,
    candidates: StoredLists<u32>,
    secret: PrimitiveArray<u32>,
    release: Utf8ViewArray,
    guess: PrimitiveArray<u32>,
    hit: BooleanArray,
    margin: PrimitiveArray<f64>,
    log_likelihoods: StoredLists<f64>,
    error: Utf8ViewArray,
    cause: Option<Utf8ViewArray>,
    readings: Option<(Utf8ViewArray, StoredLists<u32>)>,
}

impl Stored {
    /// Whether a file has columns for readings.
    pub(crate) fn has_readings(footer: &Footer) -> bool {
        footer.has("reconstruction")
    }

    /// Reads a row group, which must have the columns of [`types`], except that `cause` and those of readings may be
    /// missing, and nulls only in `error`, `cause` and `reconstruction`.
    pub(crate) fn read(
        footer: &Footer,
        file: &mut (impl Read + Seek),
        group: usize,
    ) -> Result<Self> {
        let mut column = |name: &str| footer.column(file, group, name, None);
        Ok(Self {
            cell: full("cell", &*column("cell")?)?,
            trial: full("trial", &*column("trial")?)?,
            candidates: StoredLists::of("candidates", &*column("candidates")?)?,
            secret: full("secret", &*column("secret")?)?,
            release: full("release", &*column("release")?)?,
            guess: full("guess", &*column("guess")?)?,
            hit: full("hit", &*column("hit")?)?,
            margin: full("margin", &*column("margin")?)?,
            log_likelihoods: StoredLists::of("log_likelihoods", &*column("log_likelihoods")?)?,
            error: typed("error", &*column("error")?).cloned()?,
            cause: match footer.has("cause") {
                true => Some(typed("cause", &*column("cause")?).cloned()?),
                false => None,
            },
            readings: match Self::has_readings(footer) {
                true => Some((
                    typed("reconstruction", &*column("reconstruction")?).cloned()?,
                    StoredLists::of("recalled", &*column("recalled")?)?,
                )),
                false => None,
            },
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.cell.len()
    }

    /// A row of the group.
    pub(crate) fn row(&self, row: usize) -> Result<Row> {
        let cause = self.cause.as_ref().and_then(|causes| causes.get(row));
        let cause = cause.map(|name| {
            Cause::named(name).ok_or_else(|| Broken::new(format!("'{name}' is not a cause")))
        });
        let row = Row {
            cell: self.cell.value(row),
            trial: self.trial.value(row),
            candidates: self.candidates.get(row).to_vec(),
            secret: self.secret.value(row),
            release: self.release.value(row).to_owned(),
            guess: self.guess.value(row),
            hit: self.hit.value(row),
            margin: self.margin.value(row),
            log_likelihoods: self.log_likelihoods.get(row).to_vec(),
            error: self.error.get(row).map(str::to_owned),
            cause: cause.transpose()?,
            reading: match &self.readings {
                Some((texts, numbers)) => reading(texts.get(row), numbers.get(row))?,
                None => None,
            },
        };
        Ok(row.with_cause())
    }
}

/// What an attack wrote back.
fn reading(text: Option<&str>, numbers: &[u32]) -> Result<Option<Reading>> {
    let of = |numbers: &[u32]| Recalled {
        source: numbers[0],
        release: numbers[1],
        text: numbers[2],
    };
    match (text, numbers) {
        (None, []) => Ok(None),
        (Some(text), [_, _, _, _, _, _]) => Ok(Some(Reading {
            text: text.to_owned(),
            words: of(&numbers[..3]),
            rare: of(&numbers[3..]),
        })),
        _ => Err(Broken::new(format!(
            "a reconstruction has {} numbers",
            numbers.len()
        ))),
    }
}

/// Values of this type, one in every row.
pub(crate) fn without_nulls<'a, A: Array>(name: &str, column: &'a dyn Array) -> Result<&'a A> {
    match column.null_count() {
        0 => typed(name, column),
        nulls => Err(Broken::new(format!("column '{name}' has {nulls} nulls"))),
    }
}

/// A column with a value of this type in every row.
fn full<A: Array + Clone>(name: &str, column: &dyn Array) -> Result<A> {
    without_nulls(name, column).cloned()
}
