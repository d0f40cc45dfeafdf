//! What a page may hold: bytes bound it before its limit does.

use super::world::{World, at, page, simple, text};

/// Follows the cursors of a tool from its first page: how many items each had, and their texts at `key`.
fn pages(world: &World, who: &str, tool: &str, limit: &str, key: &str) -> (Vec<usize>, Vec<String>) {
    let (mut sizes, mut keys, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let cursor_argument = cursor.map(|c| format!(r#""cursor":"{c}""#));
        let arguments: Vec<_> =
            [limit.to_owned()].into_iter().filter(|l| !l.is_empty()).chain(cursor_argument).collect();
        let got = world.ok(who, tool, &format!("{{{}}}", arguments.join(",")));
        assert!(got.to_string().len() < 3 << 20, "{tool}: a page of {} bytes", got.to_string().len());
        let (items, next) = page(&got);
        sizes.push(items);
        keys.extend((0..items).map(|n| text(&got, &format!("items.{n}.{key}"))));
        cursor = next;
        if cursor.is_none() {
            return (sizes, keys);
        }
    }
}

fn start(world: &World, process: &str, inputs: &str, request: &str) -> String {
    let call = format!(r#"{{"process":"{process}","inputs":{{{inputs}}},"requestId":"{request}"}}"#);
    text(&world.ok("a1", "start_run", &call), "run.id")
}

#[test]
fn runs_with_large_inputs_come_on_several_pages() {
    let world = World::new();
    world.publish(&simple("p1").replace("n: { type: number", "n: { type: string"));
    let large = "x".repeat(900_000);
    let mut runs: Vec<_> = (0..5)
        .map(|n| {
            world.advance(1);
            start(&world, "p1", &format!(r#""n":"{large}{n}""#), &format!("s{n}"))
        })
        .collect();
    runs.reverse();
    assert_eq!(pages(&world, "a1", "list_runs", r#""limit":100"#, "id"), (vec![2, 2, 1], runs));
    let inputs = pages(&world, "a1", "list_runs", "", "inputs.n").1;
    assert_eq!(inputs, (0..5).rev().map(|n| format!("{large}{n}")).collect::<Vec<_>>());
    world.publish(&simple("p2"));
    world.advance(1);
    start(&world, "p2", r#""n":1"#, "small");
    let small = world.ok("a1", "list_runs", r#"{"limit":1}"#);
    assert_eq!(at(&small, "items.0.inputs").unwrap().to_string(), r#"{"n":1}"#);
}

#[test]
fn work_with_large_handoffs_comes_on_several_pages() {
    let world = World::new();
    world.publish(&simple("p1"));
    let runs: Vec<_> = (0..20)
        .map(|n| {
            world.advance(1);
            start(&world, "p1", "", &format!("s{n}"))
        })
        .collect();
    // A refused submission leaves up to 256 KiB of issues for the next who claims the step.
    let fields: Vec<_> = (0..1000).map(|n| format!(r#""f{n:0180}":1"#)).collect();
    for run in &runs {
        let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c{run}"}}"#);
        let token = text(&world.ok("a1", "claim", &claim), "token");
        let submit =
            format!(r#"{{"token":"{token}","output":{{{}}},"summary":"s","requestId":"w{run}"}}"#, fields.join(","));
        world.call("a1", "submit", &submit);
    }
    world.advance(11);
    let (sizes, found) = pages(&world, "a1", "get_work", r#""limit":100"#, "runId");
    assert_eq!(found, runs);
    assert!(sizes.len() > 1 && sizes.iter().all(|size| *size <= 12), "{sizes:?}");
}

/// The data behind a person's items count, too: all of them are read for the snapshots.
#[test]
fn items_of_runs_with_large_data_come_on_several_pages() {
    let world = World::new();
    world.publish(
        "---\nname: p1\ndescription: d\ninputs:\n  n: string\nsteps:\n  \
         - { id: a, approve: ok, person: finance-approver, on_reject: z, next: z }\n  - { id: z, finish: ok }\n---\n",
    );
    let large = "x".repeat(1_000_000);
    let runs: Vec<_> = (0..40)
        .map(|n| {
            world.advance(1);
            start(&world, "p1", &format!(r#""n":"{large}""#), &format!("s{n}"))
        })
        .collect();
    let (sizes, found) = pages(&world, "fin", "get_work", r#""limit":100"#, "runId");
    assert_eq!(found, runs);
    assert!(sizes.iter().all(|size| *size <= 17), "{sizes:?}");
}

#[test]
fn processes_with_large_inputs_come_on_several_pages() {
    let world = World::new();
    let inputs = (0..12_000).map(|n| format!("  n{n:050}: string\n")).collect::<Vec<_>>().concat();
    let names: Vec<_> = (0..5).map(|n| format!("p{n}")).collect();
    for name in &names {
        world.publish(&format!(
            "---\nname: {name}\ndescription: d\ninputs:\n{inputs}steps: [{{ id: z, finish: ok }}]\n---\n"
        ));
    }
    assert_eq!(pages(&world, "a1", "list_processes", "", "name"), (vec![3, 2], names));
}
