//! What a witness says of a file, line by line.
