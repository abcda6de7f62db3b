#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| proem_fuzz::lisp_signature::feed(text));
