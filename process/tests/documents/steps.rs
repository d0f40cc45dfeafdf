//! Steps: ids, kinds, keys, people, routes, the graph.

use crate::{agent, ok, refused, steps, warned};

const END: &str = "{ id: z, finish: ok }";
const KINDS: [(&str, &str); 7] = [
    ("agent", "agent: x"),
    ("task", "task: x, person: r"),
    ("approve", "approve: x, person: r"),
    ("wait", "wait: 1h"),
    ("wait_until", "wait_until: steps.o.output.at"),
    ("wait_for", "wait_for: paid"),
    ("finish", "finish: early"),
];

/// Step 0 of this kind with further keys, before a step `o` that declares a datetime and a person.
fn one(kind: &str, keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { ", " };
    steps(&format!(
        "{{ id: s, {kind}{comma}{keys} }}, {{ id: o, agent: x, output: {{ at: datetime, boss: person }} }}, {END}"
    ))
}

#[test]
fn ids_and_kinds() {
    let with = |id: &str| steps(&format!("{{ id: {id}, agent: x, next: z }}, {END}"));
    // D/V-05
    for id in ["Check", "1st", "_a", "a.b", "a b", "é"] {
        refused(with(id), &[("steps[0].id", "must match")]);
    }
    refused(with(&"a".repeat(65)), &[("steps[0].id", "must match")]);
    refused(with("12"), &[("steps[0].id", "expected text")]);
    ok(with("a-b_c9"));
    ok(with(&"a".repeat(64)));
    // D/V-06
    let file = steps("{ id: a, agent: x }, { id: a, agent: x }, { id: z, finish: ok }");
    refused(file, &[("steps[1].id", "duplicate of steps[0]")]);
    ok(steps("{ id: a-b, agent: x }, { id: a_b, agent: x }, { id: z, finish: ok }"));
    // D/V-07
    for kinds in ["next: z", "agent: x, finish: y", "task: x, approve: y, person: r"] {
        refused(steps(&format!("{{ id: a, {kinds} }}, {END}")), &[("steps[0]", "exactly one of agent, task")]);
    }
    // D/V-08
    for (key, value) in [("agent", "~"), ("agent", "[x]"), ("task", "{}"), ("approve", "5")] {
        let person = if key == "agent" { "" } else { ", person: r" };
        let file = steps(&format!("{{ id: a, {key}: {value}{person} }}, {END}"));
        refused(file, &[(&format!("steps[0].{key}"), "expected text")]);
    }
    refused(
        steps("{ id: a, agent: '' }, { id: z, finish: '  ' }"),
        &[("steps[0].agent", "blank"), ("steps[1].finish", "blank")],
    );
    refused(steps("{ id: z, finish: ~ }"), &[("steps[0].finish", "expected text")]);
}

#[test]
fn the_key_matrix() {
    // D/V-09, D/C-08
    let keys = [
        ("output: {}", "agent task"),
        ("evidence: []", "agent task"),
        ("check: x", "agent task"),
        ("next: o", "agent task approve wait wait_until wait_for"),
        ("person: r", "task approve"),
        ("on_reject: o", "approve"),
        ("due: 1d", "agent task approve"),
        ("timeout: 1d", "wait_for"),
        ("on_timeout: o", "wait_for"),
    ];
    for (name, kind) in KINDS {
        for (key, allowed) in keys {
            let word = key.split(':').next().unwrap();
            if kind.contains("person") && word == "person" {
                continue;
            }
            let path = format!("steps[0].{word}");
            let first = crate::front(&format!(
                "name: p\ndescription: d\nsteps: [{{ id: s, {kind}, {key} }}, {{ id: o, agent: x, output: {{ at: datetime }} }}, {END}]"
            ));
            if allowed.split(' ').any(|kind| kind == name) {
                ok(first);
            } else if name == "finish" {
                // The steps after it are then out of reach as well.
                let unreachable = ("not reachable", "not reachable");
                refused(
                    first,
                    &[(&path, "not allowed on finish"), ("steps[1]", unreachable.0), ("steps[2]", unreachable.1)],
                );
            } else {
                refused(first, &[(&path, &format!("not allowed on {name}"))]);
            }
        }
        if !matches!(name, "agent" | "task" | "finish") {
            refused(one(kind, "advisory: true"), &[("steps[0].advisory", &format!("not allowed on {name}"))]);
        }
    }
}

#[test]
fn people() {
    // D/V-10
    for kind in ["task", "approve"] {
        let with = |person: &str| steps(&format!("{{ id: a, {kind}: x{person} }}, {END}"));
        refused(with(""), &[("steps[0].person", "missing")]);
        refused(with(", person: ''"), &[("steps[0].person", "blank")]);
        refused(with(", person: ~"), &[("steps[0].person", "expected text")]);
        refused(with(", person: 5"), &[("steps[0].person", "expected text")]);
    }
    let task = |person: &str| {
        crate::top("").replace("steps: [", &format!(
            "inputs: {{ boss: person, may: {{ type: person, optional: true }}, name: string, 'a.b': person }}\nsteps: [\
             {{ id: w, wait_for: paid }}, {{ id: o, agent: x, output: {{ boss: person }} }}, {{ id: p, approve: x, person: r }}, \
             {{ id: t, task: x, person: {person} }}, {{ id: later, agent: x, output: {{ boss: person }} }}, "))
    };
    // D/V-20
    for path in ["inputs.boss", "inputs.may", "steps.o.output.boss", "inputs.a.b"] {
        assert_eq!(ok(task(path)).process.roles(), ["r"], "{path}");
    }
    // D/V-21
    for path in
        ["inputs.ghost", "inputs.name", "steps.o.output.x", "steps.q.output.x", "steps.w.output.x", "steps.p.output.x"]
    {
        refused(task(path), &[("steps[3].person", "must name a declared person field")]);
    }
    // D/V-22
    for path in [
        "inputs.",
        "inputs.boss.x",
        "input.boss",
        "steps.o.boss",
        "steps.o.summary",
        ".",
        "run.startedBy",
        "sam@example.com",
    ] {
        refused(task(path), &[("steps[3].person", "inputs.<field> or steps.<id>.output.<field>")]);
    }
    // D/V-23, PATH-ABSENT
    warned(task("steps.later.output.boss"), &[("steps[3].person", "may not have run")]);
    warned(task("inputs.may"), &[("steps[3].person", "optional")]);
    warned(task("steps.o.output.boss"), &[]);
}

#[test]
fn waits_and_durations() {
    let until = |path: &str| {
        crate::top("").replace("steps: [", &format!(
            "inputs: {{ start: string, at: datetime }}\nsteps: [{{ id: o, agent: x, output: {{ at: {{ type: datetime, optional: true }} }} }}, {{ id: w, wait_until: {path} }}, "))
    };
    // D/V-24
    for path in ["2026-10-06T09:00:00Z", "inputs.start", "start", "inputs.ghost"] {
        refused(until(path), &[("steps[1].wait_until", "must name a declared datetime field")]);
    }
    ok(until("inputs.at"));
    warned(until("steps.o.output.at"), &[("steps[1].wait_until", "optional")]);
    // D/V-25
    for event in ["Payment Received", "Paid", "9x", "''"] {
        refused(steps(&format!("{{ id: w, wait_for: {event} }}, {END}")), &[("steps[0].wait_for", "must match")]);
    }
    ok(steps(&format!("{{ id: v, wait_for: paid }}, {{ id: w, wait_for: paid }}, {END}")));
    // TIMEOUT-PAIR
    let pair = format!("{{ id: v, wait_for: paid, next: w, on_timeout: z }}, {{ id: w, wait: 1h }}, {END}");
    warned(steps(&pair), &[("steps[0].on_timeout", "never taken")]);
    // Also where it leads where next leads, written or by default; not where the key is not there.
    for same in ["next: z, on_timeout: z", "on_timeout: z"] {
        let file = steps(&format!("{{ id: v, wait_for: paid, {same} }}, {END}"));
        warned(file, &[("steps[0].on_timeout", "never taken")]);
    }
    ok(steps(&format!("{{ id: v, wait_for: paid, timeout: 1h, on_timeout: z }}, {END}")));
    let only = format!("{{ id: v, wait_for: paid, next: z, on_timeout: w }}, {{ id: w, wait: 1h }}, {END}");
    refused(steps(&only), &[("steps[1]", "not reachable")]);
    // D/V-26
    let spans = |span: &str| {
        steps(&format!(
            "{{ id: a, wait: {span} }}, {{ id: b, agent: x, due: {span} }}, {{ id: c, wait_for: e, timeout: {span} }}, {END}"
        ))
    };
    for span in ["90s", "1.5h", "3 d", "3D", "1h30m", "P3D", "-1d", "d", "3", "1w", "٣d", "~"] {
        let word = "integer followed by m, h or d";
        refused(spans(span), &[("steps[0].wait", word), ("steps[1].due", word), ("steps[2].timeout", word)]);
    }
    for span in ["30m", "4h", "365d", "0m", "99999999999999999999d"] {
        ok(spans(span));
    }
}

#[test]
fn routes() {
    // D/V-11
    for (name, kind) in KINDS.iter().filter(|(name, _)| matches!(*name, "approve" | "wait" | "wait_until" | "wait_for"))
    {
        refused(one(kind, "next: [o, z]"), &[("steps[0].next", "only on agent and task")]);
        ok(one(kind, "next: o"));
        assert!(!name.is_empty());
    }
    // D/V-12
    for next in ["[]", "[z]", "[{ to: z, when: only }]"] {
        refused(agent(&format!("next: {next}")), &[("steps[0].next", "two or more routes")]);
    }
    refused(agent("next: { to: z, when: x }"), &[("steps[0].next", "expected a step id or a list")]);
    refused(agent("next: 5"), &[("steps[0].next", "expected a step id or a list")]);
    // D/V-13
    refused(agent("next: [{ when: x }, y]"), &[("steps[0].next[0].to", "missing")]);
    refused(agent("next: [{ to: z, when: ~ }, y]"), &[("steps[0].next[0].when", "expected text")]);
    refused(agent("next: [{ to: z, when: 5 }, y]"), &[("steps[0].next[0].when", "expected text")]);
    refused(agent("next: [{ to: z, when: ' ' }, y]"), &[("steps[0].next[0].when", "blank")]);
    refused(agent("next: [5, y]"), &[("steps[0].next[0]", "expected a step id")]);
    warned(agent("next: [{ to: z }, { to: y, when: now }]"), &[]);
    warned(agent("next: [z, { to: y, when: now }]"), &[]);
    warned(agent("next: [z, y, { to: z, when: again }]"), &[("steps[0].next[2]", "already")]);
    refused(agent("next: [z, { to: z, when: again }]"), &[("steps[0].next", "two or more routes")]);
    // D/V-14
    for name in ["nowhere", "Z", "end", "join"] {
        refused(agent(&format!("next: {name}")), &[("steps[0].next", "no step named")]);
    }
    refused(
        agent("next: [y, nowhere, { to: gone }]"),
        &[("steps[0].next[1]", "no step named"), ("steps[0].next[2].to", "no step named")],
    );
    refused(one("approve: x, person: r", "on_reject: nowhere"), &[("steps[0].on_reject", "no step named")]);
    refused(one("wait_for: x", "timeout: 1d, on_timeout: nowhere"), &[("steps[0].on_timeout", "no step named")]);
    ok(steps("{ id: a, agent: x, next: join }, { id: join, finish: ok }"));
}

#[test]
fn loops() {
    // D/V-15, GRAPH-TWICE
    refused(steps("{ id: a, agent: x, next: a }"), &[("steps", "a → a returns")]);
    refused(steps("{ id: a, agent: x }, { id: b, agent: x, next: a }"), &[("steps", "a → b → a returns to a step")]);
    refused(
        steps("{ id: a, agent: x, next: [b, z] }, { id: b, agent: x, next: a }, { id: z, finish: ok }"),
        &[("steps", "a → b → a")],
    );
    let timeout = "{ id: a, agent: x }, { id: w, wait_for: e, timeout: 1d, on_timeout: a }, { id: z, finish: ok }";
    refused(steps(timeout), &[("steps", "a → w → a")]);
    ok(steps("{ id: a, agent: x }, { id: p, approve: x, person: r, on_reject: a }, { id: z, finish: ok }"));
    let two = "{ id: a, agent: x, next: [b, c] }, { id: b, agent: x, next: [b, z] }, { id: c, agent: x, next: [d, z] }, { id: d, agent: x, next: c }, { id: z, finish: ok }";
    refused(steps(two), &[("steps", "b → b"), ("steps", "c → d → c")]);
    // D/V-16
    ok(steps(
        "{ id: a, agent: x, next: [b, c] }, { id: b, agent: x, next: d }, { id: c, agent: x, next: d }, { id: d, finish: ok }",
    ));
    // An earlier step in the list is fine when no cycle results.
    ok(steps("{ id: a, agent: x, next: c }, { id: b, finish: ok }, { id: c, agent: x, next: b }"));
    // Long chains do not overflow the stack.
    let long = (0..10_000).map(|n| format!("{{ id: a{n}, agent: x }}, ")).collect::<Vec<_>>().concat();
    ok(steps(&format!("{long} {END}")));
    refused(steps(&format!("{long} {{ id: y, agent: x, next: a0 }}")), &[("steps", "… → y → a0 returns")]);
}

#[test]
fn reachability() {
    // D/V-17
    let skip = "{ id: a, agent: x, next: z }, { id: b, agent: x, next: z }, { id: z, finish: ok }";
    refused(steps(skip), &[("steps[1]", "(b) not reachable")]);
    let pair = "{ id: a, agent: x, next: z }, { id: b, approve: x, person: r, next: z, on_reject: c }, { id: c, agent: x, next: b }, { id: z, finish: ok }";
    refused(steps(pair), &[("steps[1]", "(b) not reachable"), ("steps[2]", "(c) not reachable")]);
    // D/V-18, REACH-REJECT, REJECT-TARGET
    ok(steps(
        "{ id: a, wait_for: e, timeout: 1d, on_timeout: late, next: z }, { id: late, agent: x }, { id: z, finish: ok }",
    ));
    ok(steps(
        "{ id: a, approve: x, person: r, on_reject: no, next: z }, { id: no, finish: declined }, { id: z, finish: ok }",
    ));
    ok(steps("{ id: a, approve: x, person: r, on_reject: a }, { id: z, finish: ok }"));
    // D/V-19
    refused(steps("{ id: a, agent: x }"), &[("steps[0].next", "last step must name next")]);
    ok(steps("{ id: a, agent: x, next: t }, { id: done, finish: ok }, { id: t, task: x, person: r, next: done }"));
    ok(steps("{ id: z, finish: ok }"));
    // G1
    warned(steps("{ id: z, finish: rejected }"), &[("steps[0].finish", "outcome")]);
}
