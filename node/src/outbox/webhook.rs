//! Signed posts to one address.
//!
//! `X-Quorate-Signature: sha256=HEX` is the HMAC-SHA256 of `TIMESTAMP.BODY`, where `X-Quorate-Timestamp` holds the seconds
//! since 1970. A receiver refuses old timestamps and ids it has seen.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where to post, and the key that signs.
#[derive(Clone)]
pub struct Webhook {
    url: Arc<str>,
    secret: Arc<[u8]>,
    client: reqwest::Client,
}

// The key never reaches a log.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("url", &self.url).finish_non_exhaustive()
    }
}

/// An attempt that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// No connection, or no answer in time.
    #[error("no answer: {0}")]
    NoAnswer(#[from] reqwest::Error),
    /// An answer other than 2xx.
    #[error("the receiver answered {0}")]
    Refused(reqwest::StatusCode),
}

impl WebhookError {
    /// Whether the receiver takes nothing at all at present, as far as one can tell; else it refused this one post.
    pub(super) fn is_of_the_receiver(&self) -> bool {
        match self {
            Self::NoAnswer(_) => true,
            Self::Refused(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl Webhook {
    /// Posts to `url`, signed with `secret`.
    pub fn new(url: &str, secret: &[u8]) -> Result<Self, reqwest::Error> {
        Ok(Self { url: url.into(), secret: secret.into(), client: crate::http::client::client(TIMEOUT)? })
    }

    /// One attempt; taken when the receiver answers 2xx.
    pub(super) async fn post(&self, id: &str, body: String) -> Result<(), WebhookError> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signature = self.signature(seconds, &body);
        let request = self
            .client
            .post(&*self.url)
            .header("content-type", "application/json")
            .header("x-quorate-id", id)
            .header("x-quorate-timestamp", seconds)
            .header("x-quorate-signature", format!("sha256={signature}"));
        let status = request.body(body).send().await?.status();
        if status.is_success() { Ok(()) } else { Err(WebhookError::Refused(status)) }
    }

    fn signature(&self, seconds: u64, body: &str) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("any length");
        mac.update(format!("{seconds}.{body}").as_bytes());
        mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
