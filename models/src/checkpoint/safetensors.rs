//! Safetensors files, read tensor by tensor, so that memory holds no second copy of the weights.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;

use candle_core::DType;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use teda_core::{Error, Result};

use super::tensors::{Tensors, check, convert};

/// Headers above this size belong to no model.
const LONGEST_HEADER: u64 = 100_000_000;

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
    /// The one file `reader`, which messages call `name`.
    ///
    /// # Errors
    /// Where it is no complete safetensors file.
    pub(crate) fn of(name: &str, reader: impl Read + Seek + Send + 'static) -> Result<Self> {
        Ok(Self {
            files: vec![Shard::read(name.to_owned(), Box::new(reader))?],
        })
    }

    /// The files of a model's directory: those of its index, else `model.safetensors`.
    ///
    /// # Errors
    /// Where there is none, or one is not complete.
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
    /// Where it is missing or has another shape or type.
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
        convert(&shard.bytes(info)?, dtype, shape).map_err(|e| bad(e.to_string()))
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

/// The tensors that a file says it has, all of them within it, and where their bytes begin.
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
    let mut entries: HashMap<String, serde_json::Value> =
        serde_json::from_slice(&json).map_err(|e| format!("its header is not JSON: {e}"))?;
    entries.remove("__metadata__");
    let start = size + 8;
    let mut tensors = HashMap::with_capacity(entries.len());
    for (tensor, entry) in entries {
        let info: TensorInfo =
            serde_json::from_value(entry).map_err(|e| format!("tensor '{tensor}': {e}"))?;
        let (from, to) = info.data_offsets;
        if from > to || start + to as u64 > length {
            return Err(format!(
                "tensor '{tensor}' should end at byte {}, the file has {length}",
                start + to as u64
            ));
        }
        tensors.insert(tensor, info);
    }
    Ok((tensors, start))
}
