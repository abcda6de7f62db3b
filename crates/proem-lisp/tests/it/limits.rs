//! Each limit ends a program with its name.
