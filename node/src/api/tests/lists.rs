//! Pages over several shards, and what cursors are bound to.

use super::world::{World, at, page, simple, text};

fn start(world: &World, process: &str, n: usize) {
    let call = format!(r#"{{"process":"{process}","inputs":{{"n":{n}}},"requestId":"{process}-{n}"}}"#);
    world.ok("a1", "start_run", &call);
    world.advance(1);
}

/// R/W-02 R/W-03 R/V-04
#[test]
fn pages_cover_all_shards_in_order_once() {
    let world = World::new();
    world.publish(&simple("p1"));
    (0..23).for_each(|n| start(&world, "p1", n));
    for (tool, filter, newest_first) in [("get_work", "", false), ("list_runs", r#","process":"p1""#, true)] {
        for limit in [1, 2, 5, 20, 23, 100] {
            let (mut seen, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let after = cursor.map(|c| format!(r#","cursor":"{c}""#)).unwrap_or_default();
                let got = world.ok("a1", tool, &format!(r#"{{"limit":{limit}{filter}{after}}}"#));
                let (items, next) = page(&got);
                assert!(items == limit || next.is_none(), "{tool} {limit}: a short page");
                let key = if newest_first { "startedAt" } else { "readySince" };
                seen.extend((0..items).map(|n| text(&got, &format!("items.{n}.{key}"))));
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            let mut wanted = seen.clone();
            wanted.sort();
            wanted.dedup();
            if newest_first {
                wanted.reverse();
            }
            assert_eq!((seen.len(), &seen), (23, &wanted), "{tool} {limit}");
        }
        assert_eq!(page(&world.ok("a1", tool, "{}")).0, 20);
    }
    let one = world.ok("a1", "list_runs", r#"{"inputs":{"n":7.0}}"#);
    assert_eq!((page(&one), at(&one, "items.0.inputs.n").unwrap().to_string()), ((1, None), "7".to_owned()));
    assert_eq!(page(&world.ok("a1", "list_runs", r#"{"process":"nope"}"#)), (0, None));
}

#[test]
fn a_cursor_serves_one_caller_tool_and_filter() {
    let world = World::new();
    world.publish(&simple("p1"));
    (0..3).for_each(|n| start(&world, "p1", n));
    let cursor = page(&world.ok("a1", "get_work", r#"{"limit":1,"process":"p1"}"#)).1.unwrap();
    let with = |tail: &str| format!(r#"{{"cursor":"{cursor}"{tail}}}"#);
    // Another limit is the same list.
    assert_eq!(page(&world.ok("a1", "get_work", &with(r#","limit":2,"process":"p1""#))), (2, None));
    let broken = vec!["cursor: not one of this list; leave it out to start from the first page".to_owned()];
    for (who, tool, arguments) in [
        ("a2", "get_work", with(r#","process":"p1""#)),
        ("fin", "get_work", with(r#","process":"p1""#)),
        ("b1", "get_work", with(r#","process":"p1""#)),
        ("a1", "get_work", with("")),
        ("a1", "get_work", with(r#","process":"p2""#)),
        ("a1", "list_runs", with(r#","process":"p1""#)),
        ("a1", "list_processes", with("")),
        ("a1", "get_work", r#"{"cursor":"garbage"}"#.to_owned()),
        ("a1", "get_work", r#"{"cursor":""}"#.to_owned()),
        ("a1", "get_work", with(r#","process":"p1""#).replace("v1.", "v1.A")),
    ] {
        assert_eq!(world.refused(who, tool, &arguments), ("invalid".to_owned(), broken.clone()), "{who} {tool}");
    }
}

#[test]
fn processes_come_a_hundred_to_a_page_by_name() {
    let world = World::new();
    (0..101).for_each(|n| {
        world.publish(&simple(&format!("p{n:03}")));
    });
    let first = world.ok("fin", "list_processes", "{}");
    let (items, cursor) = page(&first);
    assert_eq!((items, text(&first, "items.99.name")), (100, "p099".to_owned()));
    let last = world.ok("fin", "list_processes", &format!(r#"{{"cursor":"{}"}}"#, cursor.unwrap()));
    assert_eq!((page(&last), text(&last, "items.0.name")), ((1, None), "p100".to_owned()));
}
