#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proem_fuzz::delivery::feed(bytes));
