//! Whatever a store holds: it is read as the tree that is written so, or refused with its place.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proem_guard::{LabelTree, differences};

fuzz_target!(|text: &str| match LabelTree::read(text) {
    Ok(tree) => {
        assert_eq!(tree.write().expect("what was read is within bounds"), text);
        assert!(differences(&tree, &tree.clone()).is_empty());
    }
    Err(error) => assert!(!error.to_string().contains('\n')),
});
