//! Reads single commits, as they are stored.

use proem_risk::history::ObjectId;

use proem_text::legacy_text;

use crate::{Error, git::Session, readers::decode_charset};

/// The contents of a commit's object.
pub(super) struct RawCommit {
    /// Its parents as it names them, whether they are here or not.
    pub(super) parents: Vec<ObjectId>,
    /// Name and mail address.
    pub(super) author: (Vec<u8>, Vec<u8>),
    /// When it was committed, in seconds since 1970.
    pub(super) at: i64,
    /// The first line of its message.
    pub(super) subject: String,
}

/// The most of a subject that is kept, in bytes.
const SUBJECT: usize = 200;

pub(super) fn read_commit(session: &Session<'_>, id: &ObjectId) -> Result<RawCommit, Error> {
    let answer = session.ask_about(&["cat-file", "commit"], &[&id.to_string()], &[0])?;
    parse_raw_commit(&answer.stdout).ok_or(Error::GitAnswer { command: "cat-file" })
}

pub(super) fn parse_raw_commit(bytes: &[u8]) -> Option<RawCommit> {
    let mut commit = RawCommit { parents: Vec::new(), author: (Vec::new(), Vec::new()), at: 0, subject: String::new() };
    let mut encoding = None;
    let mut lines = bytes.split(|&byte| byte == b'\n');
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        if let Some(parent) = line.strip_prefix(b"parent ") {
            commit.parents.push(ObjectId::parse(parent)?);
        } else if let Some(author) = line.strip_prefix(b"author ") {
            // Old tools wrote lines without an address; what is no person is nobody.
            commit.author = person(author).map(|(names, _)| names).unwrap_or_default();
        } else if let Some(committer) = line.strip_prefix(b"committer ") {
            // A date that is no number can't be true, and the history corrects it as such.
            commit.at = person(committer).and_then(|(_, at)| at).unwrap_or(0);
        } else if let Some(name) = line.strip_prefix(b"encoding ") {
            encoding = std::str::from_utf8(name).ok();
        }
    }
    let text = |line: &[u8]| match encoding {
        Some(name) => decode_charset(line, Some(name)).text,
        None => legacy_text(line).into_owned(),
    };
    let subject = lines.map(|line| text(line).trim().to_owned()).find(|line| !line.is_empty());
    commit.subject = subject.unwrap_or_default();
    commit.subject.truncate(commit.subject.floor_char_boundary(SUBJECT));
    Some(commit)
}

/// A name with a mail address.
pub(crate) type AuthorName = (Vec<u8>, Vec<u8>);

/// Name, mail address and time of `Ann <ann@example.org> 1700000000 +0100`.
fn person(line: &[u8]) -> Option<(AuthorName, Option<i64>)> {
    // The address ends at the last bracket and begins behind the first: what is odd is in the address.
    let end = line.iter().rposition(|&byte| byte == b'>')?;
    let (who, rest) = line.split_at_checked(end)?;
    let start = who.iter().position(|&byte| byte == b'<')?;
    let (name, mail) = who.split_at_checked(start)?;
    let at = std::str::from_utf8(rest.get(1..)?).ok().and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Some(((name.trim_ascii().to_vec(), mail.get(1..)?.to_vec()), at))
}

/// Whom git would name as the author of a commit made here. `None` if it doesn't know.
pub(crate) fn git_user(session: &Session<'_>) -> Option<AuthorName> {
    let answer = session.ask_about(&["var", "GIT_AUTHOR_IDENT"], &[], &[0]).ok()?;
    person(answer.stdout.trim_ascii_end()).map(|(names, _)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_as_stored() {
        let text = "tree 1111111111111111111111111111111111111111\n\
            parent 2222222222222222222222222222222222222222\n\
            author A <B> <ann@x> 1 +0000\ncommitter Bob <> 1700000000 +0100\ngpgsig -----BEGIN\n parent nothing\n\n\n Subject \nparent 3\n";
        let commit = parse_raw_commit(text.as_bytes()).unwrap();
        assert_eq!((commit.parents.len(), commit.at, commit.subject.as_str()), (1, 1_700_000_000, "Subject"));
        assert_eq!(commit.author, (b"A".to_vec(), b"B> <ann@x".to_vec()));
        assert!(parse_raw_commit(b"parent x\n\n").is_none());
        assert_eq!(parse_raw_commit(b"committer a <b> soon\n\n").unwrap().at, 0);
    }

    #[test]
    fn a_commit_without_a_readable_person_or_date_is_read() {
        let commit = parse_raw_commit(b"author Ann\ncommitter Ann <ann@x> +0000\n\nFix it\n").unwrap();
        assert_eq!((commit.at, commit.subject.as_str()), (0, "Fix it"));
        assert_eq!(commit.author, (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_subject_is_in_the_encoding_that_the_commit_declares() {
        for (header, message, expected) in [
            (&b"encoding ISO-8859-1\n"[..], &b"Gr\xf6\xdfe"[..], "Größe"),
            (b"encoding Shift_JIS\n", b"\x83n\x83\x8d\x81[", "ハロー"),
            (b"encoding x-none\n", b"plain", "plain"),
            (b"", b"Gr\xf6\xdfe", "Größe"),
            (b"", "Größe".as_bytes(), "Größe"),
        ] {
            let text = [b"author a <b> 1 +0000\n", header, b"\n", message, b"\n"].concat();
            assert_eq!(parse_raw_commit(&text).unwrap().subject, expected);
        }
    }
}
