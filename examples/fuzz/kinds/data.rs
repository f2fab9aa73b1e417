//! Data files of each format, and recorded releases.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use teda_datasets::{Limits, parse, parse_recorded};
use teda_parquet::arrow::array::{PrimitiveArray, Utf8ViewArray};

use super::Kind;

pub const TXT: Kind = Kind {
    name: "txt",
    dictionary: &[],
    corpus: || {
        texts(&[
            "one text\nanother one\n\nwas läuft 🎵\r\n",
            "\u{feff}a\nb\n",
        ])
    },
    run: |bytes| loads(bytes, "txt"),
};

pub const CSV: Kind = Kind {
    name: "csv",
    dictionary: &["\"\"", "\"\n\"", "text", "body"],
    corpus: || {
        texts(&[
            "id,text\n1,\"a text, quoted\"\n2,another\n3,\"with \"\"quotes\"\"\"\n",
            "text;label\na;b\nc;d\n",
        ])
    },
    run: |bytes| loads(bytes, "csv"),
};

pub const JSON_LINES: Kind = Kind {
    name: "jsonl",
    dictionary: &["\\u0000", "\\ud800", "[[[[[[[[", "\"text\":", "{}"],
    corpus: || {
        texts(&[
            "{\"text\": \"a text\", \"id\": 1}\n{\"text\": \"another\", \"nested\": {\"a\": [1, 2.5e3]}}\n",
            "{\"text\": null}\n{\"text\": \"\\u00fc\\ud83c\\udfb5\"}\n",
        ])
    },
    run: |bytes| loads(bytes, "jsonl"),
};

pub const PARQUET: Kind = Kind {
    name: "parquet",
    dictionary: &["PAR1"],
    corpus: || vec![parquet(3), parquet(200)],
    run: |bytes| loads(bytes, "parquet"),
};

pub const GZIP: Kind = Kind {
    name: "gzip",
    dictionary: &["\u{1f}"],
    corpus: || vec![gzip(b"text\na\nb\n"), gzip(&vec![b'a'; 100_000])],
    run: |bytes| loads(bytes, "csv.gz"),
};

pub const RELEASES: Kind = Kind {
    name: "releases",
    dictionary: &["source", "release", "epsilon", "inf", "nan"],
    corpus: || {
        texts(&[
            "source,release,epsilon\na,b,1\nb,a,1\na,a,2\n",
            "source,release\na,b\nb,\nc,x\n",
        ])
    },
    run: |bytes| parse_recorded("data.csv", bytes, Limits::default()).is_ok(),
};

fn texts(sound: &[&str]) -> Vec<Vec<u8>> {
    sound.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn parquet(rows: usize) -> Vec<u8> {
    let texts: Vec<String> = (0..rows).map(|row| format!("text number {row}")).collect();
    let columns = [
        Utf8ViewArray::from_slice_values(&texts).boxed(),
        PrimitiveArray::from_vec((0..rows as u32).collect()).boxed(),
    ];
    let types = ["text", "id"].into_iter().zip(&columns);
    let types: Vec<_> = types
        .map(|(name, values)| (name, values.dtype().clone()))
        .collect();
    let mut bytes = Vec::new();
    let packed = teda_parquet::Compression::Zstd;
    let writer = teda_parquet::Writer::new(&mut bytes, &types, packed, &[]);
    let mut writer = writer.expect("these types can be stored");
    writer.write(&columns).expect("it is written");
    writer.finish().expect("it is written");
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("it is written");
    encoder.finish().expect("it is written")
}

fn loads(bytes: &[u8], extension: &str) -> bool {
    parse(&format!("data.{extension}"), bytes, Limits::default()).is_ok()
}
