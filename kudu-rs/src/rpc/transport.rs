//! A socket, plain or under TLS, in the two halves that the reader and the writer of a connection own.

use super::frame;
use crate::error::{Error, Result};
use bytes::{Buf, Bytes, BytesMut};
use rustls::ClientConnection;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A TLS session, shared by both halves; never held over an await.
pub type Tls = Arc<Mutex<ClientConnection>>;

/// So much is read at once; also the step in which a buffer grows, whatever length was announced.
const CHUNK: usize = 64 * 1024;

pub struct ReadSide {
    pub server: Arc<str>,
    pub socket: OwnedReadHalf,
    pub tls: Option<Tls>,
    pub buffer: BytesMut,
    /// Longest message that is taken.
    pub limit: usize,
}

pub struct WriteSide {
    pub server: Arc<str>,
    pub socket: OwnedWriteHalf,
    pub tls: Option<Tls>,
}

pub fn lock(tls: &Tls) -> MutexGuard<'_, ClientConnection> {
    tls.lock().unwrap_or_else(|e| e.into_inner())
}

impl ReadSide {
    /// The next message; None when the server has closed the connection between two.
    pub async fn frame(&mut self) -> Result<Option<Bytes>> {
        loop {
            let announced = frame::announced(&self.buffer, self.limit)?;
            if let Some(length) = announced.filter(|n| self.buffer.len() >= 4 + n) {
                self.buffer.advance(4);
                return Ok(Some(self.buffer.split_to(length).freeze()));
            }
            if !self.fill().await? {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => {
                        Err(Error::connection(&self.server, "the connection was closed in the middle of a message"))
                    }
                };
            }
        }
    }

    /// Reads what is there; false at the end.
    async fn fill(&mut self) -> Result<bool> {
        let lost = |e: std::io::Error, server: &str| Error::connection(server, format!("the connection was lost: {e}"));
        let Some(tls) = self.tls.clone() else {
            self.buffer.reserve(CHUNK);
            let n = self.socket.read_buf(&mut self.buffer).await.map_err(|e| lost(e, &self.server))?;
            return Ok(n > 0);
        };
        let mut chunk = vec![0; CHUNK];
        let n = self.socket.read(&mut chunk).await.map_err(|e| lost(e, &self.server))?;
        if n == 0 {
            return Ok(false);
        }
        self.decrypt(&tls, &chunk[..n])
    }

    fn decrypt(&mut self, tls: &Tls, mut records: &[u8]) -> Result<bool> {
        let mut tls = lock(tls);
        let broken = |e: &dyn std::fmt::Display, server: &str| Error::connection(server, format!("TLS: {e}"));
        while !records.is_empty() {
            tls.read_tls(&mut records).map_err(|e| broken(&e, &self.server))?;
            let state = tls.process_new_packets().map_err(|e| broken(&e, &self.server))?;
            let (plain, closed) = (state.plaintext_bytes_to_read(), state.peer_has_closed());
            if plain > 0 {
                let start = self.buffer.len();
                self.buffer.resize(start + plain, 0);
                tls.reader().read_exact(&mut self.buffer[start..]).map_err(|e| broken(&e, &self.server))?;
            }
            if closed {
                return Ok(plain > 0);
            }
        }
        Ok(true)
    }
}

impl WriteSide {
    pub async fn send(&mut self, message: &[u8]) -> Result<()> {
        let lost = |e: std::io::Error, server: &str| Error::connection(server, format!("the connection was lost: {e}"));
        match &self.tls {
            None => self.socket.write_all(message).await.map_err(|e| lost(e, &self.server)),
            Some(tls) => {
                let sealed = seal(&mut lock(tls), message).map_err(|e| lost(e, &self.server))?;
                self.socket.write_all(&sealed).await.map_err(|e| lost(e, &self.server))
            }
        }
    }
}

/// The message in TLS records; with what else the session has to say (an answer to a change of keys).
fn seal(tls: &mut ClientConnection, mut message: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(message.len() + message.len() / 256 + 64);
    while !message.is_empty() {
        let n = tls.writer().write(message)?;
        message = &message[n..];
        while tls.wants_write() {
            tls.write_tls(&mut out)?;
        }
    }
    Ok(out)
}
