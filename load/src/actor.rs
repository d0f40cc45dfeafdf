//! Whoever writes: settles unknown outcomes with the same request id, and keeps what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::client::Client;
use crate::ending::Ending;
use crate::history::{Basis, History, Write};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A request id that no other write of this process of ours has.
pub fn request_id() -> String {
    format!("load-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// An agent or a person.
#[derive(Clone)]
pub struct Actor {
    /// Its number among all.
    pub number: usize,
    /// Its connection.
    pub client: Client,
    /// Where its promises go.
    pub history: Arc<History>,
    /// When it stops working.
    pub ending: Arc<Ending>,
}

impl Actor {
    /// The same one, at home so many nodes further on.
    #[must_use]
    pub fn moved(&self, by: usize) -> Self {
        Self { client: self.client.moved(by), ..self.clone() }
    }

    /// Writes; what was promised, if it was.
    pub async fn write(&self, tool: &'static str, arguments: Value, step: Option<(String, String)>) -> Option<Value> {
        self.write_on(Basis::Present, tool, arguments, step).await
    }

    /// Writes, relying on something.
    pub async fn write_on(
        &self,
        basis: Basis,
        tool: &'static str,
        arguments: Value,
        step: Option<(String, String)>,
    ) -> Option<Value> {
        let began = Instant::now();
        let (answer, node) = self.client.settle(tool, &arguments, || self.ending.gives_up(began)).await;
        let span = (began, Instant::now());
        let write = Write { actor: self.number, tool, arguments, step, answer, node, span, basis };
        let promised = write.promised().cloned();
        self.history.keep(write);
        promised
    }
}
