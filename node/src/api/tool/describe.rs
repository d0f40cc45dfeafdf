//! `describe` (DESC-LIMITS).

use agentprocess::json::{Number, Object, Value};

use crate::api::{Api, tools};
use crate::groups::Groups;

/// The check profile's defaults (profile-check §5). `check-1` is not listed while no evaluator can be configured.
const CHECK_PASS: &str = "0.9";
const CHECK_CONFIDENCE: &str = "0.8";
const CHECK_STATE_BYTES: u64 = 64 * 1024;

impl<G: Groups> Api<G> {
    pub(in crate::api) fn describe(&self) -> Value {
        let mut person = Object::new();
        person.set("format", "email");
        let mut limits = Object::new();
        limits
            .set("runDataBytes", self.settings.run_data_bytes_max)
            .set("checkPass", decimal(CHECK_PASS))
            .set("checkFail", Value::Null)
            .set("checkConfidence", decimal(CHECK_CONFIDENCE))
            .set("checkStateBytes", CHECK_STATE_BYTES);
        let mut data = Object::new();
        data.set("protocol", "agentprocess")
            .set("version", "core-2")
            .set("profiles", vec![Value::from("parallel-1")])
            .set("leaseSeconds", seconds(self.settings.lease.0))
            .set("person", person)
            .set("tools", tools().iter().map(|t| t.name.into()).collect::<Vec<Value>>())
            .set("maxUploadBytes", self.settings.upload_bytes_max)
            .set("limits", limits);
        data.into()
    }
}

fn decimal(text: &str) -> Value {
    Number::parse(text).map_or(Value::Null, Value::Number)
}

/// Milliseconds as a number of seconds.
fn seconds(millis: u64) -> Value {
    let (whole, rest) = (millis / 1000, millis % 1000);
    if rest == 0 { whole.into() } else { decimal(&format!("{whole}.{rest:03}")) }
}
