//! Checks the pages of a Parquet file against its footer: false sizes make the library ask for more memory than any
//! machine has, which ends the process.

use std::ops::Range;

use polars_parquet_format::PageHeader;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;

/// Most bytes in a page's header; it holds some numbers, and statistics.
const LONGEST_HEADER: usize = 1 << 20;

/// Checks the pages of a column of `rows` rows in `range` of the file `bytes`.
///
/// # Errors
/// What is wrong with the first invalid page.
pub(super) fn check(
    bytes: &[u8],
    range: Range<u64>,
    values: i64,
    rows: usize,
) -> Result<(), String> {
    // In a column without lists each row has one value.
    if usize::try_from(values) != Ok(rows) {
        return Err(format!(
            "a column says that it has {values} values in {rows} rows"
        ));
    }
    let place = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
    let (Some(start), Some(end)) = (place(range.start), place(range.end)) else {
        return Err(format!("a column lies beyond the file, at {range:?}"));
    };
    let mut rest = bytes.get(start..end).unwrap_or_default();
    let mut seen = 0;
    while seen < rows {
        let header = {
            let mut reader = TCompactInputProtocol::new(&mut rest, LONGEST_HEADER);
            PageHeader::read_from_in_protocol(&mut reader).map_err(|e| e.to_string())?
        };
        let size = |what: &str, size: i32| {
            usize::try_from(size).map_err(|_| format!("a page says that it has {size} {what}"))
        };
        let packed = size("bytes", header.compressed_page_size)?;
        let unpacked = size("bytes", header.uncompressed_page_size)?;
        let data = header.data_page_header.as_ref().map(|data| data.num_values);
        let second = header.data_page_header_v2.as_ref();
        if let Some(values) = data.or_else(|| second.map(|data| data.num_values)) {
            seen += size("values", values)?;
        } else if let Some(dictionary) = &header.dictionary_page_header {
            // No value takes less than a byte.
            if size("words", dictionary.num_values)? > unpacked {
                return Err(format!(
                    "a page of {unpacked} bytes says that it has {} words",
                    dictionary.num_values
                ));
            }
        }
        if let Some(second) = second {
            let levels = [
                second.num_nulls,
                second.definition_levels_byte_length,
                second.repetition_levels_byte_length,
            ];
            for level in levels {
                if size("bytes of levels, or nulls", level)? > unpacked.max(rows) {
                    return Err(format!(
                        "a page of {unpacked} bytes says that {level} are of levels"
                    ));
                }
            }
        }
        rest = rest
            .get(packed..)
            .ok_or_else(|| format!("a page of {packed} bytes lies beyond its column"))?;
    }
    if seen > rows {
        return Err(format!("its pages have {seen} values in {rows} rows"));
    }
    Ok(())
}
