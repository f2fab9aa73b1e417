//! Loading texts through the public interface, as the program does.

mod categories;
mod containers;
mod counts;
mod delimited;
mod json_lines;
mod parquet;
mod shipped;
mod source;
mod support;
mod text;
