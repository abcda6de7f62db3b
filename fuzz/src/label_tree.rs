//! Any text in a store: it is read as the tree with that written form, or refused with its place.

use proem_guard::{LabelTree, tree_differences};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    match LabelTree::read(text) {
        Ok(tree) => {
            let written = tree.write().expect("what was read is within bounds");
            assert_eq!(LabelTree::read(&written).as_ref(), Ok(&tree));
            // The older form is written as the newer one.
            assert_eq!(written == text, !text.ends_with("\"version\":1}"));
            assert!(tree_differences(&tree, &tree.clone()).is_empty());
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}
