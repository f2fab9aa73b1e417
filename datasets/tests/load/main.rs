//! Loading texts and recorded releases through the public interface, as the program does.

mod categories;
mod containers;
mod counts;
mod delimited;
mod json_lines;
mod labelled;
mod limits;
mod parquet;
mod recorded;
mod shipped;
mod source;
mod support;
mod text;
