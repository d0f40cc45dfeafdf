//! The content hash.

use crate::{BASE, agent, front, input, ok, steps};

const BASE_HASH: &str = "420a1365c78f3d1eef7d5d8abd76fd69de3d24d06762ee93ec21323bfae445c9";

#[test]
fn it_is_of_the_data_not_of_the_spelling() {
    // D/B-05
    assert_eq!(ok(BASE).hash, BASE_HASH);
    let block = "---\n# comment\nsteps:\n- next: z\n  id: \"a\"\n  agent: do it # here\n- finish: 'ok'\n  id: z\ndescription: d\nname: p\n---\n\nBody.\n";
    assert_eq!(ok(block).hash, BASE_HASH);
    let front_crlf = BASE.replace("\n---\n\nBody", "\n---\r\n\nBody").replace("d\nsteps", "d\r\nsteps");
    assert_eq!(ok(front_crlf).hash, BASE_HASH);
    for body in ["\nBody.\n\n", "\nBody.", "Body.\n", "\r\nBody.\n", "\nbody.\n"] {
        assert_ne!(ok(BASE.replace("\nBody.\n", body)).hash, BASE_HASH, "{body:?}");
    }
    // D/P-13
    let json = "{\n \"name\": \"p\", \"description\": \"d\",\n \"steps\": [{\"id\": \"a\", \"agent\": \"do it\", \"next\": \"z\"}, {\"id\": \"z\", \"finish\": \"ok\"}]\n}";
    assert_eq!(ok(front(json) + "\nBody.\n").hash, BASE_HASH);
    // Numbers count by value, as canonical JSON writes them.
    let n = |list: &str| ok(input(&format!("{{ type: number, one_of: {list} }}"))).hash;
    assert_eq!(n("[1000, 0x1F]"), n("[1e3, 31]"));
}

#[test]
fn it_is_of_what_was_written_not_of_its_meaning() {
    // D/B-06
    let differ = |a: String, b: String| assert_ne!(ok(a).hash, ok(b).hash);
    differ(input("number"), input("{ type: number }"));
    differ(input("{ type: number }"), input("{ type: number, optional: false }"));
    differ(
        steps("{ id: a, agent: x }, { id: z, finish: ok }"),
        steps("{ id: a, agent: x, next: z }, { id: z, finish: ok }"),
    );
    differ(agent("check: x"), agent("check: [{ ask: x }]"));
}
