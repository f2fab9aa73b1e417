//! What the linker of an extension module is told.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
