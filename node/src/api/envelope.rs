//! The envelope every call is answered with (§4, ERR-ENVELOPE).

use agentprocess::json::{Object, Value};
use quorate_proto::{Code, Refusal};
use quorate_statemachine::store::Fatal;

use crate::groups::Unavailable;

/// What a call came to inside this module.
pub(crate) type Answer = Result<Value, Refusal>;

/// `{ "ok": true, "data": … }`
pub fn ok(data: Value) -> Value {
    let mut envelope = Object::new();
    envelope.set("ok", true).set("data", data);
    envelope.into()
}

/// `{ "ok": false, "error": { code, message, issues? } }`
pub fn refused(refusal: &Refusal) -> Value {
    let mut error = Object::new();
    error.set("code", refusal.code.as_str()).set("message", refusal.message.as_str());
    if !refusal.issues.is_empty() {
        error.set("issues", refusal.issues.iter().map(|i| i.as_str().into()).collect::<Vec<Value>>());
    }
    let mut envelope = Object::new();
    envelope.set("ok", false).set("error", error);
    envelope.into()
}

/// `invalid`: the call itself is at fault; every issue at once.
pub fn invalid(issues: Vec<String>) -> Refusal {
    Refusal::new(Code::Invalid, "the arguments are not valid; mend what issues lists and call again").with(issues)
}

/// `not_found`, the same words for what never existed and for what another organization has (AUTH-401).
pub(crate) fn not_found(what: &str) -> Refusal {
    Refusal::new(Code::NotFound, format!("no such {what} in this organization"))
}

/// The outcome is unknown, or nothing was done: the same request id settles it (ERR-RETRY).
pub(crate) fn retry(why: &str) -> Refusal {
    Refusal::new(
        Code::Retry,
        format!("the server could not answer ({why}); send the same call with the same requestId again"),
    )
}

impl From<Unavailable> for Refusal {
    fn from(e: Unavailable) -> Self {
        retry(&e.0)
    }
}

/// The engine under a read failed. The replica stops of itself; this caller may find another.
pub(crate) fn failed(e: &Fatal) -> Refusal {
    retry(&format!("storage: {e}"))
}
