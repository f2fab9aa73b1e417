//! Pictures of empirical against nominal ε, and charts of other measured numbers, drawn with plotters as SVG and PNG.

mod axis;
mod canvas;
mod chart;
mod claims;
mod curve;
mod figure;
mod font;
mod labels;
mod layout;
mod legend;
mod nested;
mod paint;
mod series;
mod sign;
mod style;

pub use chart::{Chart, ChartLine, ChartPoint, Scale, chart};
pub use figure::draw;
pub use series::{Options, Point, Series};
