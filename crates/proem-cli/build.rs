//! Development builds on Linux are linked to one place in memory. Anywhere else, each start has to write a quarter of a
//! million addresses first, which is half of the time of the shortest commands, and tests start the binary some
//! thousand times (docs/design/0004-speed.md). Releases stay position-independent.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=proem=-no-pie");
    }
}
