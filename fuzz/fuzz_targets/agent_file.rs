#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| proem_fuzz::agent_file::feed(text));
