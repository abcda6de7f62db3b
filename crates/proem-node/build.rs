//! Says to the linkers of macOS and Windows that Node's functions are there once the module is loaded.

fn main() {
    napi_build::setup();
}
