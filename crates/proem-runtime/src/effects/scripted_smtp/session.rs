//! One connection of the scripted server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{SharedSmtp, SmtpEncryption, SmtpPlace, SmtpReaction};

/// A connection, encrypted or not.
trait Wire: Read + Write {}

impl<W: Read + Write> Wire for W {}

/// A dialogue and what it has come to.
struct Session<'a> {
    wire: BufReader<Box<dyn Wire>>,
    shared: &'a SharedSmtp,
    recipients: usize,
    is_encrypted: bool,
}

/// The connection has ended, as the script or the client wanted.
fn over() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

/// Leads a dialogue to its end.
pub(super) fn serve(stream: TcpStream, shared: &SharedSmtp) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let spare = stream.try_clone()?;
    let whole = matches!(shared.script.encryption, SmtpEncryption::Whole | SmtpEncryption::OtherHost);
    let wire: Box<dyn Wire> = match &shared.tls {
        Some(tls) if whole => encrypt_stream(stream, tls, shared)?,
        _ => Box::new(stream),
    };
    let mut session = Session { wire: BufReader::new(wire), shared, recipients: 0, is_encrypted: whole };
    session.answer(SmtpPlace::Greeting, "220 localhost ready\r\n")?;
    loop {
        let line = session.line()?;
        let command = line.to_ascii_uppercase();
        let is_login = command.starts_with("AUTH");
        shared.log().commands.push(if is_login { "AUTH".to_owned() } else { line.clone() });
        match command.split_ascii_whitespace().next() {
            Some("EHLO") => session.hello()?,
            Some("STARTTLS") => {
                session.answer(SmtpPlace::StartTls, "220 go ahead\r\n")?;
                let tls = shared.tls.as_ref().ok_or_else(over)?;
                session.wire = BufReader::new(encrypt_stream(spare.try_clone()?, tls, shared)?);
                session.is_encrypted = true;
            }
            Some("AUTH") => session.login(&line)?,
            Some("MAIL") => session.answer(SmtpPlace::Sender, "250 sender ok\r\n")?,
            Some("RCPT") => {
                session.recipients += 1;
                session.answer(SmtpPlace::Recipient(session.recipients), "250 recipient ok\r\n")?;
            }
            Some("DATA") => session.mail()?,
            Some("RSET") => session.say("250 forgotten\r\n")?,
            Some("QUIT") => return session.say("221 bye\r\n"),
            _ => session.say("500 unknown command\r\n")?,
        }
    }
}

fn encrypt_stream(stream: TcpStream, tls: &Arc<ServerConfig>, shared: &SharedSmtp) -> io::Result<Box<dyn Wire>> {
    if shared.script.reaction(SmtpPlace::Handshake).is_some() {
        return Err(over());
    }
    let connection = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(connection, stream)))
}

impl Session<'_> {
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.wire.read_line(&mut line)? == 0 {
            return Err(over());
        }
        Ok(line.trim_end().to_owned())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.wire.get_mut().write_all(text.as_bytes())?;
        self.wire.get_mut().flush()
    }

    /// Says what belongs to a place, or does what the script wants there.
    fn answer(&mut self, at: SmtpPlace, text: &str) -> io::Result<()> {
        match self.shared.script.reaction(at) {
            None => self.say(text),
            Some(SmtpReaction::Say(other)) => self.say(other),
            Some(SmtpReaction::Late(wait)) => {
                thread::sleep(*wait);
                self.say(text)
            }
            Some(SmtpReaction::Drop) => Err(over()),
            Some(SmtpReaction::Hang) => {
                // The end of what the client says is the end of its patience.
                io::copy(&mut self.wire, &mut io::sink())?;
                Err(over())
            }
        }
    }

    fn hello(&mut self) -> io::Result<()> {
        let wants = self.shared.script.encryption == SmtpEncryption::StartTls;
        let offers = if wants && !self.is_encrypted { "250-STARTTLS\r\n" } else { "250-AUTH PLAIN LOGIN\r\n" };
        let at = if wants && self.is_encrypted { SmtpPlace::SecondHello } else { SmtpPlace::Hello };
        self.answer(at, &format!("250-localhost\r\n{offers}250 SIZE 1000000\r\n"))
    }

    fn login(&mut self, line: &str) -> io::Result<()> {
        let given = line.rsplit_once(' ').and_then(|(_, text)| STANDARD.decode(text).ok()).unwrap_or_default();
        let password = given.rsplit(|byte| *byte == 0).next().unwrap_or_default();
        let is_right = self.shared.script.password.as_ref().is_none_or(|wanted| wanted.as_bytes() == password);
        self.answer(SmtpPlace::Login, if is_right { "235 welcome\r\n" } else { "535 wrong password\r\n" })
    }

    fn mail(&mut self) -> io::Result<()> {
        let wanted = self.shared.script.reaction(SmtpPlace::Data).cloned();
        self.answer(SmtpPlace::Data, "354 go ahead\r\n")?;
        if let Some(SmtpReaction::Say(text)) = wanted
            && !text.starts_with("354")
        {
            return Ok(());
        }
        let (mut mail, mut lines) = (Vec::new(), 0);
        loop {
            let mut line = Vec::new();
            if self.wire.read_until(b'\n', &mut line)? == 0 {
                return Err(over());
            }
            if line == b".\r\n" {
                break;
            }
            mail.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            lines += 1;
            if self.shared.script.reaction(SmtpPlace::Body(lines)).is_some() {
                self.answer(SmtpPlace::Body(lines), "")?;
            }
        }
        self.shared.log().mails.push(mail);
        self.answer(SmtpPlace::Dot, "250 queued as 1\r\n")?;
        let is_yes = |text: &str| text.starts_with('2') && text.get(3..4) == Some(" ");
        let said = self.shared.script.reaction(SmtpPlace::Dot);
        let is_taken = match said {
            None | Some(SmtpReaction::Late(_)) => true,
            Some(SmtpReaction::Say(text)) => is_yes(text),
            Some(SmtpReaction::Drop | SmtpReaction::Hang) => false,
        };
        self.shared.log().accepted += usize::from(is_taken);
        if self.shared.script.reaction(SmtpPlace::Answered).is_some() {
            return Err(over());
        }
        Ok(())
    }
}
