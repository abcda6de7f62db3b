//! Errors as exceptions, which `proem_engine/_errors.py` defines: one class for each kind, with every problem.

use proem::ErrorKind;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(proem_engine._errors, BudgetExceeded);
import_exception!(proem_engine._errors, InvalidError);
import_exception!(proem_engine._errors, NegativeError);
import_exception!(proem_engine._errors, OutsideError);
import_exception!(proem_engine._errors, ProemError);

/// The exception for a failure of the library.
pub(crate) fn exception_of(error: &proem::Error) -> PyErr {
    let problems = (error.problems().to_vec(),);
    match error.kind() {
        ErrorKind::Invalid => InvalidError::new_err(problems),
        ErrorKind::Exceeded => BudgetExceeded::new_err(problems),
        ErrorKind::Negative => NegativeError::new_err(problems),
        ErrorKind::Outside => OutsideError::new_err(problems),
        _ => ProemError::new_err(problems),
    }
}

/// The exception for a caller's mistake.
pub(crate) fn invalid_error(problem: impl Into<String>) -> PyErr {
    InvalidError::new_err((vec![problem.into()],))
}
