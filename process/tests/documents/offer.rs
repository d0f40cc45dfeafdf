//! What a document needs and a server may not offer.

use agentprocess::Offer;

use crate::{agent, ok, steps};

const ALL: Offer<'static> = Offer { profiles: &["parallel-1", "check-1"], tools: &["upload", "send_event"] };

fn lacking(file: &str, offer: &Offer<'_>) -> Vec<String> {
    assert_eq!(ok(file).not_offered(&ALL), []);
    ok(file).not_offered(offer).iter().map(ToString::to_string).collect()
}

#[test]
fn profiles_and_tools() {
    // D/O-01
    let fork = steps(
        "{ id: a, agent: x }, { id: f, parallel: [x, y], next: z }, { id: x, agent: x, next: join }, { id: y, agent: x, next: join }, { id: z, finish: ok }",
    );
    let none = lacking(&fork, &Offer { profiles: &["check-1"], ..ALL });
    assert_eq!(none, ["steps[1].parallel: needs profile parallel-1, which this server does not offer"]);
    // D/O-02
    let none = lacking(&agent("check: x"), &Offer { profiles: &["parallel-1"], ..ALL });
    assert_eq!(none, ["steps[0].check: needs profile check-1, which this server does not offer"]);
    // D/O-03
    let upload = Offer { tools: &["send_event"], ..ALL };
    for evidence in ["[file]", "[link, file]"] {
        let none = lacking(&agent(&format!("evidence: {evidence}")), &upload);
        assert_eq!(none, ["steps[0].evidence: needs the tool upload, which this server does not offer"]);
    }
    assert!(lacking(&agent("evidence: [link]"), &upload).is_empty());
    let wait = steps("{ id: w, wait_for: paid }, { id: z, finish: ok }");
    let none = lacking(&wait, &Offer { tools: &["upload"], ..ALL });
    assert_eq!(none, ["steps[0].wait_for: needs the tool send_event, which this server does not offer"]);
    assert_eq!(ok(&wait).process.tools_needed(), ["send_event"]);
}
