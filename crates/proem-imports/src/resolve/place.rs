//! Paths as bytes.

/// The folder of a path. Empty for the root.
pub(super) fn folder_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    path.get(..slash).unwrap_or_default()
}

/// The last component of a path.
pub(super) fn last_component(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// A name without its ending.
pub(super) fn name_stem(path: &[u8]) -> &[u8] {
    let name = last_component(path);
    let dot = name.iter().position(|&byte| byte == b'.').unwrap_or(name.len());
    name.get(..dot).unwrap_or_default()
}

/// `relative` below `folder`, with `.` and `..` taken away. `None` if that leaves the root.
pub(super) fn join_relative(folder: &[u8], relative: &[u8]) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in folder.split(|&byte| byte == b'/').chain(relative.split(|&byte| byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}

/// How many leading components two folders share.
pub(super) fn shared_components(one: &[u8], other: &[u8]) -> usize {
    let parts = |path: &[u8]| path.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect::<Vec<_>>();
    parts(one).iter().zip(&parts(other)).take_while(|(a, b)| a == b).count()
}

/// A folder and all above it, itself first and the root last.
pub(super) fn upwards(folder: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = Some(folder);
    core::iter::from_fn(move || {
        let at = next?;
        next = if at.is_empty() { None } else { Some(self::folder_of(at)) };
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_without_leaving_the_root() {
        for (folder, relative, expected) in [
            ("a/b", "../c", Some("a/c")),
            ("a", "./b//c", Some("a/b/c")),
            ("", "x", Some("x")),
            ("a", "..", Some("")),
            ("a", "../../b", None),
        ] {
            assert_eq!(join_relative(folder.as_bytes(), relative.as_bytes()), expected.map(|e| e.as_bytes().to_vec()));
        }
    }

    #[test]
    fn the_way_up_ends_at_the_root() {
        let way: Vec<&[u8]> = upwards(b"a/b").collect();
        assert_eq!(way, [&b"a/b"[..], b"a", b""]);
        assert_eq!(upwards(b"").count(), 1);
    }
}
