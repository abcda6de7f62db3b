//! Says to macOS's linker that Python's functions are there once the module is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
