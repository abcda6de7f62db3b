#[path = "../src/linear/mod.rs"]
mod linear;
use clap::Parser;
#[derive(Parser)]
struct A {
    #[command(flatten)]
    a: linear::EvalLinear,
}
fn main() {
    match linear::run(&A::parse().a) {
        Ok(t) => println!("{t}"),
        Err(t) => println!("FAILED {t}"),
    }
}
