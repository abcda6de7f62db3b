//! Whom recorded bytes come from and go to, read from the bytes themselves.

use mail_parser::{Address, HeaderName, HeaderValue, MessageParser};

use super::{MAX_RECIPIENTS, MailRefusal, is_address};

/// The envelope of a mail that this room made: who sends it to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MailEnvelope {
    /// The address that it comes from.
    pub(crate) from: String,
    /// The addresses that it goes to, in the order of the mail.
    pub(crate) to: Vec<String>,
}

impl MailEnvelope {
    /// The envelope of these bytes.
    ///
    /// # Errors
    ///
    /// [`MailRefusal::NotOurs`] unless they are as [`super::write_mail`] makes them: ASCII in lines that end with CRLF,
    /// one sender, recipients in `To` alone.
    pub(crate) fn of(mail: &[u8]) -> Result<Self, MailRefusal> {
        Self::read(mail).ok_or(MailRefusal::NotOurs)
    }

    fn read(mail: &[u8]) -> Option<Self> {
        if !mail.is_ascii() || !mail.ends_with(b"\r\n") || !has_whole_lines(mail) {
            return None;
        }
        let message = MessageParser::new().parse(mail)?;
        let headers = message.headers();
        let once = |name: &HeaderName<'_>| headers.iter().filter(|header| header.name == *name).count() == 1;
        if !once(&HeaderName::From) || !once(&HeaderName::To) {
            return None;
        }
        if headers.iter().any(|header| matches!(header.name, HeaderName::Cc | HeaderName::Bcc)) {
            return None;
        }
        let from = envelope_addresses(message.header(HeaderName::From)?)?;
        let to = envelope_addresses(message.header(HeaderName::To)?)?;
        let [from] = from.as_slice() else { return None };
        (1..=MAX_RECIPIENTS).contains(&to.len()).then(|| Self { from: from.clone(), to })
    }
}

/// Whether every line ends with CRLF, has at most [`super::MAX_LINE`] characters, and no other control character.
fn has_whole_lines(mail: &[u8]) -> bool {
    let is_text = |byte: &u8| *byte == b'\t' || (b' '..=b'~').contains(byte);
    mail.split_inclusive(|byte| *byte == b'\n').all(|line| {
        line.strip_suffix(b"\r\n").is_some_and(|line| line.len() <= super::MAX_LINE && line.iter().all(is_text))
    })
}

fn envelope_addresses(value: &HeaderValue<'_>) -> Option<Vec<String>> {
    let HeaderValue::Address(Address::List(list)) = value else { return None };
    let address = |found: &mail_parser::Addr<'_>| found.address().filter(|text| is_address(text)).map(str::to_owned);
    list.iter().map(address).collect()
}
