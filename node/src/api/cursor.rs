//! Page cursors: the last row seen, sealed and bound to caller, tool and filters (PAGE-CURSOR).

use agentprocess::json::{Object, Value, canonical};
use quorate_proto::{Caller, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::arguments::Arguments;
use super::envelope::invalid;
use super::keys::Use;
use super::{Api, seal};
use crate::groups::Groups;

/// What a cursor is bound to and does not hold.
fn bound(caller: &Caller, tool: &str, arguments: &Arguments) -> Vec<u8> {
    let mut o = Object::new();
    o.set("org", caller.org.as_str()).set("caller", caller.id.as_str()).set("kind", caller.kind.as_str());
    o.set("tool", tool).set("filters", arguments.filters());
    canonical(&Value::from(o)).into_bytes()
}

fn broken() -> Refusal {
    invalid(vec!["cursor: not one of this list; leave it out to start from the first page".to_owned()])
}

impl<G: Groups> Api<G> {
    /// The row after which the page starts; `None` for the first page.
    pub(crate) async fn cursor<T: DeserializeOwned>(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &Arguments,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = arguments.text("cursor") else { return Ok(None) };
        let sealed = seal::split(&text).ok_or_else(broken)?;
        let key = self.key(sealed.key).await?.ok_or_else(broken)?;
        sealed.open(&key, Use::Cursor, &bound(caller, tool, arguments)).map(Some).ok_or_else(broken)
    }

    /// A page: its items and a cursor after `last` when there is more.
    pub(crate) async fn page<T: Serialize>(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &Arguments,
        items: Vec<Value>,
        last: Option<T>,
    ) -> Result<Value, Refusal> {
        let next = match last {
            None => None,
            Some(last) => {
                let key = self.signing_key().await?;
                Some(seal::seal(&key, Use::Cursor, &bound(caller, tool, arguments), &last))
            }
        };
        let mut page = Object::new();
        page.set("items", items).set("nextCursor", next);
        Ok(page.into())
    }
}
