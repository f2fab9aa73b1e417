//! Pictures of empirical against nominal ε, drawn with plotters as SVG and PNG.

mod apart;
mod axis;
mod canvas;
mod curve;
mod figure;
mod font;
mod labels;
mod layout;
mod legend;
mod paint;
mod style;

pub use figure::{Options, Point, Series, draw};
