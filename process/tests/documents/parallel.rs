//! Publication rules of the parallel profile.

use crate::{ok, refused, steps};

/// The base with some of its steps replaced: start, fork, x, y, z.
fn base(changes: &[(&str, &str)], more: &str) -> String {
    let mut parts = [
        ("start", "{ id: start, agent: x }"),
        ("fork", "{ id: fork, parallel: [x, y], next: z }"),
        ("x", "{ id: x, agent: x, next: join }"),
        ("y", "{ id: y, agent: x, next: join }"),
        ("z", "{ id: z, finish: ok }"),
    ];
    for part in &mut parts {
        if let Some(change) = changes.iter().find(|change| change.0 == part.0) {
            part.1 = change.1;
        }
    }
    steps(&format!("{}{more}", parts.map(|part| part.1).join(", ")))
}

#[test]
fn what_publishes() {
    // D/L-01
    let process = ok(base(&[], "")).process;
    assert_eq!(process.profiles(), ["parallel-1"]);
    let branch = process.steps[3].branch.unwrap();
    assert_eq!((branch.parallel, branch.entry, process.steps[4].branch), (1, 3, None));
    ok(steps(
        "{ id: fork, parallel: [x, y], next: z }, { id: x, agent: x, next: join }, { id: y, agent: x, next: join }, { id: z, finish: ok }",
    ));
    ok(base(
        &[("x", "{ id: x, agent: x, next: [x2, { to: join, when: nothing more }] }")],
        ", { id: x2, agent: x, next: join }",
    ));
    ok(base(
        &[("fork", "{ id: fork, parallel: [x, y], next: again }")],
        ", { id: again, parallel: [v, w], next: z }, { id: v, wait: 1h, next: join }, { id: w, approve: x, person: r, next: join }",
    ));
    ok(base(&[("x", "{ id: x, wait_for: e, timeout: 1h, on_timeout: join, next: join }")], ""));
}

#[test]
fn the_fork() {
    // D/L-02
    let fork = |list: &str| base(&[("fork", &format!("{{ id: fork, parallel: {list}, next: z }}"))], "");
    refused(
        fork("[x]"),
        &[("steps[1].parallel", "two or more"), ("steps[3]", "not reachable"), ("steps[3].next", "join")],
    );
    refused(
        fork("x"),
        &[
            ("steps[1].parallel", "expected a list"),
            ("steps[2]", "not reachable"),
            ("steps[3]", "not reachable"),
            ("steps[2].next", "join"),
            ("steps[3].next", "join"),
        ],
    );
    refused(
        fork("[]"),
        &[
            ("steps[1].parallel", "two or more"),
            ("steps[2]", "not reachable"),
            ("steps[3]", "not reachable"),
            ("steps[2].next", "join"),
            ("steps[3].next", "join"),
        ],
    );
    refused(fork("[x, y, x]"), &[("steps[1].parallel[2]", "twice")]);
    refused(fork("[x, y, ghost]"), &[("steps[1].parallel[2]", "no step named")]);
    refused(fork("[x, y, z]"), &[("steps[1].parallel[2]", "branch z cannot contain a finish")]);
    refused(fork("[x, y, fork]"), &[("steps[1].parallel[2]", "parallel step")]);
    // D/L-03, PAR-NEXT
    for key in
        ["due: 1d", "person: r", "output: {}", "evidence: []", "on_reject: start", "check: x", "next: [z, start]"]
    {
        let name = key.split(':').next().unwrap();
        let next = if name == "next" { "" } else { ", next: z" };
        let file = base(&[("fork", &format!("{{ id: fork, parallel: [x, y]{next}, {key} }}"))], "");
        refused(file, &[(&format!("steps[1].{name}"), "parallel takes next and nothing else")]);
    }
    // D/L-04
    let bare = "{ id: fork, parallel: [x, y] }";
    refused(base(&[("fork", bare)], ""), &[("steps[1].next", "name next"), ("steps[4]", "not reachable")]);
    let after = format!(
        "{{ id: start, agent: x, next: fork }}, {{ id: x, agent: x, next: join }}, {{ id: y, agent: x, next: join }}, {bare}, {{ id: z, finish: ok }}"
    );
    ok(steps(&after));
}

#[test]
fn the_walls_of_a_branch() {
    let x = |next: &str| format!("{{ id: x, agent: x, next: {next} }}");
    // D/L-05
    refused(base(&[("x", &x("z"))], ""), &[("steps[2].next", "leaves its branch")]);
    refused(base(&[("x", &x("fork"))], ""), &[("steps[2].next", "routes to the parallel step")]);
    refused(base(&[("x", &x("y"))], ""), &[("steps[1].parallel[1]", "y is in two branches")]);
    let shared = base(&[("x", &x("s")), ("y", "{ id: y, agent: x, next: s }")], ", { id: s, agent: x, next: join }");
    refused(shared, &[("steps[3].next", "s is in two branches")]);
    let mut default = base(&[("x", "{ id: x, agent: x }")], "");
    refused(&default, &[("steps[2].next", "names next or join")]);
    default = base(
        &[("fork", "{ id: fork, parallel: [x, y], next: review }"), ("x", &x("review"))],
        ", { id: review, agent: x, next: z }",
    );
    refused(default, &[("steps[1].next", "routes into a branch"), ("steps[5].next", "leaves its branch")]);
    // D/L-06
    let start = "{ id: start, agent: x, next: [x, fork] }";
    refused(base(&[("start", start)], ""), &[("steps[0].next[0]", "routes into a branch from outside")]);
    refused(
        base(&[("z", "{ id: z, task: x, person: r, next: y }")], ""),
        &[("steps[4].next", "routes into a branch from outside")],
    );
    // D/L-07
    let outside = base(&[("z", "{ id: z, agent: x, next: join }")], "");
    refused(outside, &[("steps[4].next", "only inside a branch")]);
    let listed = base(&[("fork", "{ id: fork, parallel: [x, y, join], next: z }")], "");
    refused(listed, &[("steps[1].parallel[2]", "join")]);
    let rejected = base(&[("start", "{ id: start, approve: x, person: r, on_reject: join }")], "");
    refused(rejected, &[("steps[0].on_reject", "join")]);
    refused(base(&[("start", "{ id: join, agent: x }")], ""), &[("steps[0].id", "reserved")]);
    // D/L-08
    for target in ["start", "y", "fork"] {
        let approve = format!("{{ id: x, approve: x, person: r, on_reject: {target}, next: join }}");
        refused(base(&[("x", &approve)], ""), &[("steps[2].on_reject", "must stay in the same branch")]);
    }
    ok(base(&[("x", &x("x2"))], ", { id: x2, approve: x, person: r, on_reject: x, next: join }"));
    // A branch cannot hold the first step.
    let first = steps(
        "{ id: x, agent: x, next: join }, { id: y, agent: x, next: join }, { id: fork, parallel: [x, y], next: z }, { id: z, finish: ok }",
    );
    refused(
        first,
        &[
            ("steps[0]", "first step"),
            ("steps[1]", "not reachable"),
            ("steps[2]", "not reachable"),
            ("steps[3]", "not reachable"),
        ],
    );
}

#[test]
fn after_the_join_and_loops() {
    // D/L-09, PAR-AFTER
    let review = |target: &str| {
        base(
            &[("fork", "{ id: fork, parallel: [x, y], next: mid }")],
            &format!(", {{ id: mid, agent: x }}, {{ id: r, approve: x, person: r, next: z, on_reject: {target} }}"),
        )
    };
    for target in ["fork", "start", "mid"] {
        ok(review(target));
    }
    refused(review("x"), &[("steps[6].on_reject", "inside a branch")]);
    // D/L-10
    let inner = base(&[("x", "{ id: x, agent: x, next: x2 }")], ", { id: x2, agent: x, next: x }");
    refused(inner, &[("steps", "x → x2 → x")]);
    let outer = base(
        &[
            ("fork", "{ id: fork, parallel: [x, y], next: start }"),
            ("start", "{ id: start, agent: x, next: [fork, z] }"),
        ],
        "",
    );
    refused(outer, &[("steps", "start → fork → start")]);
    // D/L-11
    let nested = base(
        &[("x", "{ id: x, parallel: [p, q], next: join }")],
        ", { id: p, agent: x, next: join }, { id: q, agent: x, next: join }",
    );
    refused(nested, &[("steps[1].parallel[0]", "nested parallel"), ("steps[2].next", "only inside a branch")]);
}
