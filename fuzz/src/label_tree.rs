//! Whatever a store holds: it is read as the tree that is written so, or refused with its place.

use proem_guard::{LabelTree, differences};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    match LabelTree::read(text) {
        Ok(tree) => {
            assert_eq!(tree.write().expect("what was read is within bounds"), text);
            assert!(differences(&tree, &tree.clone()).is_empty());
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}
