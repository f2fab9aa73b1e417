//! Safetensors files, read tensor by tensor, so that no second copy of the weights is in memory.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::sync::Mutex;

use candle_core::DType;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use teda_core::{Error, Result};

use super::tensors::{Tensors, check, convert, plain};

/// No model has a header above this size.
const LONGEST_HEADER: u64 = 100_000_000;
/// Most dimensions of a tensor.
const DIMENSIONS: usize = 8;

/// The tensors of one or more safetensors files.
pub(crate) struct Safetensors {
    files: Vec<Shard>,
}

struct Shard {
    name: String,
    reader: Mutex<Box<dyn Source>>,
    tensors: HashMap<String, TensorInfo>,
    /// Where the tensors' bytes begin.
    start: u64,
}

trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

impl Safetensors {
    /// The single file `reader`, named `name` in messages.
    ///
    /// # Errors
    /// If it is not a complete safetensors file.
    pub(crate) fn of(name: &str, reader: impl Read + Seek + Send + 'static) -> Result<Self> {
        Ok(Self {
            files: vec![Shard::read(name.to_owned(), Box::new(reader))?],
        })
    }

    /// The files of a model's directory: those in its index, otherwise `model.safetensors`.
    ///
    /// # Errors
    /// If there is none, or one is not complete.
    pub(super) fn of_directory(directory: &Path) -> Result<Self> {
        let index = super::json(&directory.join("model.safetensors.index.json"))?;
        let names: BTreeSet<String> = match &index {
            Some(index) => index["weight_map"]
                .as_object()
                .into_iter()
                .flat_map(|map| map.values())
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
            None => ["model.safetensors".to_owned()].into(),
        };
        let open = |name: &String| {
            let mut parts = Path::new(name).components();
            if !matches!(
                (parts.next(), parts.next()),
                (Some(Component::Normal(_)), None)
            ) {
                return Err(Error::failed(format!(
                    "{}: model.safetensors.index.json names the file '{name}', which is not one beside it",
                    directory.display()
                )));
            }
            let path = directory.join(name);
            let file = File::open(&path)
                .map_err(|e| Error::failed(format!("cannot read {}: {e}", path.display())))?;
            Shard::read(path.display().to_string(), Box::new(file))
        };
        Ok(Self {
            files: names.iter().map(open).collect::<Result<_>>()?,
        })
    }

    /// An 8-bit integer tensor, row by row.
    ///
    /// # Errors
    /// If it is missing or has another shape or type.
    pub(crate) fn bytes(&self, tensor: &str, shape: &[usize]) -> Result<Vec<i8>> {
        // candle has no signed 8-bit type.
        check(self, tensor, shape)?;
        let (shard, info) = self.find(tensor).expect("a checked tensor is there");
        if info.dtype != Dtype::I8 {
            return Err(Error::failed(format!(
                "{}: tensor '{tensor}' has type {:?}, expected I8",
                shard.name, info.dtype
            )));
        }
        let bytes = shard.bytes(info)?;
        Ok(bytes.into_iter().map(u8::cast_signed).collect())
    }

    fn find(&self, tensor: &str) -> Option<(&Shard, &TensorInfo)> {
        self.files
            .iter()
            .find_map(|shard| Some((shard, shard.tensors.get(tensor)?)))
    }
}

impl Tensors for Safetensors {
    fn shape(&self, tensor: &str) -> Option<Vec<usize>> {
        self.find(tensor).map(|(_, info)| info.shape.clone())
    }

    fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>> {
        check(self, tensor, shape)?;
        let (shard, info) = self.find(tensor).expect("a checked tensor is there");
        let bad =
            |what: String| Error::failed(format!("{}: tensor '{tensor}': {what}", shard.name));
        let dtype = DType::try_from(info.dtype).map_err(|e| bad(e.to_string()))?;
        convert(&shard.bytes(info)?, dtype, shape).map_err(|e| bad(plain(&e)))
    }

    fn file(&self) -> String {
        self.files
            .first()
            .map_or(String::new(), |shard| shard.name.clone())
    }
}

impl Shard {
    fn read(name: String, mut reader: Box<dyn Source>) -> Result<Self> {
        let (tensors, start) = header(&mut *reader)
            .map_err(|e| Error::failed(format!("{name}: not a complete safetensors file: {e}")))?;
        Ok(Self {
            name,
            reader: Mutex::new(reader),
            tensors,
            start,
        })
    }

    /// The offsets are within the file: this was checked when the header was read.
    fn bytes(&self, info: &TensorInfo) -> Result<Vec<u8>> {
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        let mut reader = self.reader.lock().expect("no reader panics");
        reader
            .seek(SeekFrom::Start(self.start + from as u64))
            .and_then(|_| reader.read_exact(&mut bytes))
            .map_err(|e| Error::failed(format!("cannot read {}: {e}", self.name)))?;
        Ok(bytes)
    }
}

type Header = (HashMap<String, TensorInfo>, u64);

/// The tensors that a file claims to have, checked to be within it, and where their bytes begin.
fn header(reader: &mut dyn Source) -> std::result::Result<Header, String> {
    let text = |e: std::io::Error| e.to_string();
    let length = reader.seek(SeekFrom::End(0)).map_err(text)?;
    reader.rewind().map_err(text)?;
    let mut size = [0; 8];
    reader
        .read_exact(&mut size)
        .map_err(|_| format!("it has {length} bytes"))?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST_HEADER || size + 8 > length {
        return Err(format!(
            "its header should have {size} bytes, the file has {length}"
        ));
    }
    let mut json = vec![0; size as usize];
    reader.read_exact(&mut json).map_err(text)?;
    let Entries(tensors) = serde_json::from_slice(&json).map_err(|e| format!("its header: {e}"))?;
    let start = size + 8;
    let mut ends = Vec::with_capacity(tensors.len());
    for (tensor, info) in &tensors {
        let (from, to) = info.data_offsets;
        let end = start.checked_add(to as u64).filter(|_| from <= to);
        if end.is_none_or(|end| end > length) {
            return Err(format!(
                "tensor '{tensor}' should go from byte {from} to {to} behind the header, the file has {length}"
            ));
        }
        let bytes = bytes(info).ok_or_else(|| {
            format!(
                "tensor '{tensor}' has the shape {:?}, which is none of a tensor",
                &info.shape[..info.shape.len().min(DIMENSIONS)]
            )
        })?;
        if bytes != to - from {
            return Err(format!(
                "tensor '{tensor}' of type {:?} and shape {:?} takes {bytes} bytes, and {} are there",
                info.dtype,
                info.shape,
                to - from
            ));
        }
        ends.push((from, to, tensor));
    }
    // Tensors that share bytes would let a small file fill any amount of memory.
    ends.sort_unstable();
    for pair in ends.windows(2) {
        let ((_, end, first), (from, _, second)) = (pair[0], pair[1]);
        if from < end {
            return Err(format!("tensors '{first}' and '{second}' overlap"));
        }
    }
    Ok((tensors, start))
}

/// Bytes that a tensor takes; `None` if the count overflows or its numbers end inside a byte.
fn bytes(info: &TensorInfo) -> Option<usize> {
    let dimensions = info.shape.iter().take(DIMENSIONS + 1);
    let bits = (info.shape.len() <= DIMENSIONS).then(|| {
        dimensions
            .copied()
            .try_fold(info.dtype.bitsize(), usize::checked_mul)
    })??;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// The tensors of a header. It is parsed directly rather than through a generic JSON value, which takes many times as
/// much memory as the text.
struct Entries(HashMap<String, TensorInfo>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries, A::Error> {
        let mut tensors = HashMap::new();
        while let Some(tensor) = map.next_key::<String>()? {
            if tensor == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let info = map
                .next_value::<TensorInfo>()
                .map_err(|e| de::Error::custom(format!("tensor '{tensor}': {e}")))?;
            if tensors.contains_key(&tensor) {
                return Err(de::Error::custom(format!(
                    "tensor '{tensor}' is there twice"
                )));
            }
            tensors.insert(tensor, info);
        }
        Ok(Entries(tensors))
    }
}
