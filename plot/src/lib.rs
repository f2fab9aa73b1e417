//! Pictures of empirical against nominal ε, and of utility against empirical ε, drawn with plotters as SVG and PNG.

mod axis;
mod canvas;
mod claims;
mod curve;
mod figure;
mod font;
mod frontier;
mod labels;
mod layout;
mod legend;
mod nested;
mod paint;
mod series;
mod sign;
mod style;

pub use figure::draw;
pub use frontier::{Frontier, FrontierLine, FrontierPoint, frontier};
pub use series::{Options, Point, Series};
