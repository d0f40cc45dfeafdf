//! Exact JSON around an SDK that loses digits (NUM-EXACT, JSON-DUP, JSON-LIMITS).
//!
//! The SDK reads messages with `serde_json`, which turns numbers into doubles and lets the last of two equal keys win.
//! So the arguments never go through it. They are cut out of the body as the bytes that were sent and carried beside the
//! message, for the tools to read; the SDK gets the message with `{}` in their place. The other
//! way round it answers with a placeholder, and the exact envelope is put into its message afterwards. The rest of a
//! message (id, method, metadata) is the SDK's own.

use agentprocess::json::{Object, Value, parse};
use axum::body::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Deepest nesting of the SDK's answers.
const ANSWER_DEPTH_MAX: usize = 128;

/// No arguments.
const NONE: &[u8] = b"{}";

/// A body as the SDK may see it.
#[derive(Debug, PartialEq)]
pub struct Split {
    /// The message, without the arguments of a tool call.
    pub message: Bytes,
    /// The arguments as sent, `{}` for none, if the message is a tool call. A part of the body.
    pub arguments: Option<Bytes>,
}

/// A body that is no JSON-RPC message.
#[derive(Debug, PartialEq)]
pub struct Fault {
    /// The JSON-RPC error code.
    pub code: i64,
    /// What is wrong.
    pub message: String,
    /// The message's id as sent, when it could be read.
    pub id: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "name")]
    _name: String,
}

/// Takes the arguments of a tool call out of a body.
pub fn split(body: &Bytes) -> Result<Split, Fault> {
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Fault {
            code: -32600,
            message: "batches are not supported; send one message".to_owned(),
            id: None,
        });
    }
    let message: Message = serde_json::from_slice(body).map_err(|e| fault(&e, None))?;
    let id = message.id.map(|id| id.get().to_owned());
    if message.method.as_deref() != Some("tools/call") {
        return Ok(Split { message: body.clone(), arguments: None });
    }
    // A list would be read as a record by position, and the SDK would take a call without a name for another method.
    let Some(params) = message.params.filter(|params| params.get().starts_with('{')) else {
        return Err(Fault { code: -32602, message: "tools/call takes an object of params".to_owned(), id });
    };
    let params: Params = serde_json::from_str(params.get()).map_err(|e| Fault { code: -32602, ..fault(&e, id) })?;
    let Some(arguments) = params.arguments else {
        return Ok(Split { message: body.clone(), arguments: Some(Bytes::from_static(NONE)) });
    };
    // The raw value is a part of the body, so the difference of their addresses is its place there.
    let text = arguments.get();
    let start = text.as_ptr().addr() - body.as_ptr().addr();
    let message = [&body[..start], NONE, &body[start + text.len()..]].concat().into();
    let sent = if text == "null" { Bytes::from_static(NONE) } else { body.slice(start..start + text.len()) };
    Ok(Split { message, arguments: Some(sent) })
}

fn fault(error: &serde_json::Error, id: Option<String>) -> Fault {
    let code = if error.is_data() { -32600 } else { -32700 };
    Fault { code, message: format!("not a JSON-RPC message: {error}"), id }
}

/// The JSON text of a fault as a JSON-RPC error.
pub fn fault_text(fault: &Fault) -> String {
    let id = fault.id.as_deref().unwrap_or("null");
    let message = Value::from(fault.message.as_str());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":{message}}}}}"#, fault.code)
}

/// Puts the envelope into the SDK's answer: the same JSON as structured content and as one text block
/// (ERR-ENVELOPE). `None` when the answer is no tool result.
pub fn join(answer: &[u8], envelope: Value) -> Option<Vec<u8>> {
    let Value::Object(mut message) = parse(answer, ANSWER_DEPTH_MAX).ok()? else { return None };
    let Some(Value::Object(mut result)) = message.remove("result") else { return None };
    let mut text = Object::new();
    text.set("type", "text").set("text", envelope.to_string());
    result.set("content", vec![Value::Object(text)]).set("structuredContent", envelope);
    result.remove("isError");
    message.set("result", result);
    Some(Value::Object(message).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn call(arguments: &str) -> Split {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        split(&body.into()).unwrap()
    }

    fn sent(split: Split) -> String {
        String::from_utf8(split.arguments.unwrap().to_vec()).unwrap()
    }

    #[test]
    fn arguments_leave_the_message_as_they_were_sent() {
        for arguments in [
            r#"{"n":12345678901234567890.5,"e":1e3,"z":-0,"one":1.0}"#,
            r#"{"$serde_json::private::Number":"1e999"}"#,
            r#"{"b":1,"a":[{"y":null,"x":"é\n"}]}"#,
            "[1]",
            "3",
        ] {
            let split = call(arguments);
            assert_eq!(
                split.message,
                br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}"#[..]
            );
            assert_eq!(sent(split), arguments);
        }
        for none in ["null", "{}"] {
            assert_eq!(sent(call(none)), "{}");
        }
    }

    #[test]
    fn arguments_that_are_no_acceptable_json_are_told_apart_from_bad_messages() {
        let deep = format!("{}{}", r#"{"a":"#.repeat(10_000) + "1", "}".repeat(10_000));
        for arguments in
            [r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"\u0062":2}}"#, r#"{"a":"\ud800"}"#, r#"{"a":1e99999}"#, &deep]
        {
            assert_eq!(sent(call(arguments)), arguments);
        }
        for (body, code, id) in [
            (&b"not json"[..], -32700, None),
            (b"", -32700, None),
            (b"{\"id\":1,", -32700, None),
            (b"{\"id\":1,\"method\":\"\xff\"}", -32700, None),
            (b"[]", -32600, None),
            (b"7", -32600, None),
            (br#"{"method":"tools/call","method":"x"}"#, -32600, None),
            (br#"{"id":"x","method":"tools/call","params":{"arguments":{},"arguments":{}}}"#, -32602, Some("\"x\"")),
            (br#"{"id":3,"method":"tools/call","params":[]}"#, -32602, Some("3")),
            (br#"{"id":3,"method":"tools/call"}"#, -32602, Some("3")),
        ] {
            let fault = split(&Bytes::from_static(body)).unwrap_err();
            assert_eq!((fault.code, fault.id.as_deref()), (code, id), "{}", String::from_utf8_lossy(body));
            parse(fault_text(&fault).as_bytes(), 9).unwrap();
        }
    }

    #[test]
    fn other_messages_pass_unchanged() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"arguments":{"a":1}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(split(&body.into()).unwrap(), Split { message: body.into(), arguments: None });
        }
    }

    #[test]
    fn the_envelope_goes_into_the_answer_exactly() {
        let envelope = parse(br#"{"ok":true,"data":{"n":12345678901234567890.5,"e":1e3,"z":-0}}"#, 9).unwrap();
        let answer = br#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[],"isError":false}}"#;
        let joined = String::from_utf8(join(answer, envelope).unwrap()).unwrap();
        assert_eq!(
            joined,
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"ok\":true,\"data\":{\"n\":12345678901234567890.5,\"e\":1e3,\"z\":-0}}"}],"structuredContent":{"ok":true,"data":{"n":12345678901234567890.5,"e":1e3,"z":-0}}}}"#
        );
        assert_eq!(join(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#, Value::Null), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_split_or_refused(body: Vec<u8>) {
            drop(split(&body.into()));
        }

        #[test]
        fn any_text_comes_through_a_call(text: String, key: String) {
            let mut arguments = Object::new();
            arguments.set(key, text);
            let arguments = Value::Object(arguments);
            proptest::prop_assert_eq!(sent(call(&arguments.to_string())), arguments.to_string());
            let answer = join(br#"{"result":{}}"#, arguments.clone()).unwrap();
            let joined = parse(&answer, ANSWER_DEPTH_MAX).unwrap();
            let result = joined.as_object().unwrap().get("result").unwrap().as_object().unwrap();
            proptest::prop_assert_eq!(result.get("structuredContent"), Some(&arguments));
        }
    }
}
