#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| proem_fuzz::conversation::feed(text));
