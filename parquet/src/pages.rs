//! Checks the pages of a Parquet file against its footer: false sizes make the library ask for more memory than any
//! machine has, which ends the process.

use polars_parquet_format::PageHeader;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;

/// Most bytes in a page's header; it holds some numbers, and statistics.
const LONGEST_HEADER: usize = 1 << 20;

/// Checks the pages in the bytes of a column, of which the footer says that it has so many `values`.
///
/// # Errors
/// What is wrong with the first invalid page.
pub(crate) fn check(bytes: &[u8], values: usize) -> Result<(), String> {
    let mut rest = bytes;
    let mut seen = 0;
    while seen < values {
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
        if let Some(found) = data.or_else(|| second.map(|data| data.num_values)) {
            seen += size("values", found)?;
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
                if size("bytes of levels, or nulls", level)? > unpacked.max(values) {
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
    if seen > values {
        return Err(format!("its pages have {seen} values of {values}"));
    }
    Ok(())
}
