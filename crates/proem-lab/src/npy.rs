//! Reads the arrays of NumPy that are needed here, and nothing else.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>, versions 1
//! and 2, C order, without a comma too much or a key too many.

/// An array and its raw elements.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Array<'a> {
    kind: &'a str,
    shape: Vec<usize>,
    elements: &'a [u8],
}

impl<'a> Array<'a> {
    /// Reads a whole file.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, String> {
        let (version, rest) = file
            .strip_prefix(b"\x93NUMPY".as_slice())
            .and_then(|rest| rest.split_first_chunk::<2>())
            .ok_or("not a NumPy array")?;
        let (length, rest) = match version {
            [1, 0] => rest.split_first_chunk().map(|(bytes, rest)| (usize::from(u16::from_le_bytes(*bytes)), rest)),
            [2, 0] => rest
                .split_first_chunk()
                .map(|(bytes, rest)| (usize::try_from(u32::from_le_bytes(*bytes)).unwrap_or(usize::MAX), rest)),
            [major, minor] => return Err(format!("version {major}.{minor} of the format; 1.0 and 2.0 are read")),
        }
        .ok_or("the file ends within the header")?;
        let (header, elements) = rest.split_at_checked(length).ok_or("the file ends within the header")?;
        let header = std::str::from_utf8(header).map_err(|error| format!("the header is no text: {error}"))?;
        let (kind, shape) =
            parse_header(header).ok_or_else(|| format!("a header of another form: {}", header.trim()))?;
        let size = match kind {
            "|i1" => 1,
            "<f2" => 2,
            other => return Err(format!("elements of type `{other}`; `|i1` and `<f2` are read")),
        };
        let expected = shape.iter().try_fold(size, |product: usize, side| product.checked_mul(*side));
        if expected != Some(elements.len()) {
            return Err(format!("{} bytes of elements don't fill the shape {shape:?}", elements.len()));
        }
        Ok(Self { kind, shape, elements })
    }

    /// The signed bytes of an array of two dimensions, and the length of its rows.
    pub(crate) fn bytes_of_rows(&self) -> Result<(Vec<i8>, usize), String> {
        match (self.kind, self.shape.as_slice()) {
            ("|i1", [_, columns]) => Ok((self.elements.iter().map(|byte| byte.cast_signed()).collect(), *columns)),
            (kind, shape) => Err(format!("`{kind}` of shape {shape:?}; two dimensions of `|i1` are needed")),
        }
    }

    /// The numbers of an array of one dimension of half precision.
    pub(crate) fn halves(&self) -> Result<Vec<f32>, String> {
        match (self.kind, self.shape.as_slice()) {
            ("<f2", [_]) => {
                Ok(self.elements.as_chunks().0.iter().map(|bytes| half_to_single(u16::from_le_bytes(*bytes))).collect())
            }
            (kind, shape) => Err(format!("`{kind}` of shape {shape:?}; one dimension of `<f2` is needed")),
        }
    }
}

/// The type and shape in `{'descr': '|i1', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse_header(header: &str) -> Option<(&str, Vec<usize>)> {
    let rest = header.strip_prefix("{'descr': '")?;
    let (kind, rest) = rest.split_once("', 'fortran_order': False, 'shape': (")?;
    let (shape, rest) = rest.split_once("), }")?;
    // One dimension is written `(3,)`, more are written `(3, 4)`.
    let sides = shape.strip_suffix(',').unwrap_or(shape).split(", ");
    let shape = sides.map(|side| side.parse().ok()).collect::<Option<Vec<usize>>>()?;
    rest.trim().is_empty().then_some((kind, shape))
}

/// A number of half precision (IEEE 754 binary16), which single precision holds exactly.
fn half_to_single(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10) & 0x1f, u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        // Subnormal: a multiple of 2⁻²⁴.
        0 => (f32::from(bits & 0x3ff) / 16_777_216.0).to_bits(),
        0x1f => 0x7f80_0000 | fraction << 13,
        exponent => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
        let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        let length = u16::try_from(header.len()).unwrap();
        file.extend(length.to_le_bytes());
        if version == 2 {
            file.extend([0, 0]);
        }
        file.extend(header.bytes());
        file.extend(elements);
        file
    }

    const ROWS: &str = "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }   \n";
    const HALVES: &str = "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n";

    #[test]
    fn reads_rows_of_bytes_and_halves() {
        for version in [1, 2] {
            let rows = file(version, ROWS, &[1, 2, 3, 255, 128, 0]);
            assert_eq!(Array::parse(&rows).unwrap().bytes_of_rows(), Ok((vec![1, 2, 3, -1, -128, 0], 3)));
        }
        let halves = file(1, HALVES, &[0, 0x3c, 0, 0xc0]);
        assert_eq!(Array::parse(&halves).unwrap().halves(), Ok(vec![1.0, -2.0]));
        assert!(Array::parse(&halves).unwrap().bytes_of_rows().is_err());
    }

    #[test]
    fn halves_are_exact() {
        for (bits, expected) in [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(half_to_single(bits).to_bits(), f32::to_bits(expected), "{bits:#x}");
        }
        assert!(half_to_single(0x7e00).is_nan());
    }

    #[test]
    fn refuses_everything_else() {
        let check = |file: &[u8], problem: &str| assert_eq!(Array::parse(file), Err(problem.to_owned()));
        let rows = file(1, ROWS, &[0; 6]);
        check(b"", "not a NumPy array");
        check(&rows[..7], "not a NumPy array");
        check(&rows[..9], "the file ends within the header");
        check(&rows[..40], "the file ends within the header");
        check(&rows[..rows.len() - 1], "5 bytes of elements don't fill the shape [2, 3]");
        check(&file(3, ROWS, &[0; 6]), "version 3.0 of the format; 1.0 and 2.0 are read");
        let order = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }";
        check(&file(1, order, &[0; 6]), &format!("a header of another form: {order}"));
        let kind = ROWS.replace("|i1", "<f8");
        check(&file(1, &kind, &[0; 6]), "elements of type `<f8`; `|i1` and `<f2` are read");
        let huge = ROWS.replace("2, 3", "18446744073709551615, 3");
        check(&file(1, &huge, &[0; 6]), "6 bytes of elements don't fill the shape [18446744073709551615, 3]");
    }
}
