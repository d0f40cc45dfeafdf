use agentprocess::time::Timestamp;
use quorate_proto::Code;
use quorate_proto::catalog::{CatalogCommand, CatalogReply};

use super::{World, map, process};
use crate::catalog::rows::Done;
use crate::catalog::{apply, read};

/// D/B-09: organizations share nothing.
#[test]
fn another_organization_sees_nothing_and_counts_for_itself() {
    let mut world = World::default();
    world.released("demo", "p", "one");
    world.released("demo", "p", "two");
    assert_eq!(read::list(&world.state, "other", None, 10), Ok(vec![]));
    assert_eq!(read::version(&world.state, "other", "p", 1), Ok(None));
    assert_eq!(world.released("other", "p", "theirs"), (1, true));
    assert_eq!(read::latest(&world.state, "demo", "p").unwrap().unwrap().number, 2);
}

#[test]
fn a_retired_process_is_out_of_the_list_until_it_is_brought_back() {
    let mut world = World::default();
    world.released("demo", "p", "one");
    let retire = |retired| CatalogCommand::Retire {
        org: "demo".to_owned(),
        process: "p".to_owned(),
        retired,
        by: "u_ops".to_owned(),
    };
    for _ in 0..2 {
        assert_eq!(world.run(&retire(true)), Ok(CatalogReply::Retired));
    }
    assert_eq!(read::list(&world.state, "demo", None, 10), Ok(vec![]));
    assert_eq!(read::latest(&world.state, "demo", "p"), Ok(None));
    assert!(read::version(&world.state, "demo", "p", 1).unwrap().unwrap().retired);
    // Publishing does not bring it back by the way.
    assert_eq!(world.released("demo", "p", "two"), (2, true));
    assert_eq!(read::latest(&world.state, "demo", "p"), Ok(None));
    world.run(&retire(false)).unwrap();
    assert_eq!(read::list(&world.state, "demo", None, 10).unwrap()[0].number, 2);
    let records = read::records(&world.state, "demo", None, 10).unwrap();
    let retirements = records.iter().filter(|(_, row)| matches!(row.done, Done::Retired | Done::Restored));
    assert_eq!(retirements.count(), 2);
    assert_eq!(read::records(&world.state, "demo", Some(3), 10).unwrap().len(), 2);

    let unknown = CatalogCommand::Retire {
        org: "other".to_owned(),
        process: "p".to_owned(),
        retired: true,
        by: "u_ops".to_owned(),
    };
    assert_eq!(world.run(&unknown).unwrap_err().code, Code::NotFound);
}

/// ROLE-VERSIONS: each version has its own map, outside of its hash.
#[test]
fn roles_of_one_version_are_mapped_anew() {
    let mut world = World::default();
    world.import("demo", &process("p", &["lead", "desk"]), "one");
    world.publish("demo", "p", &[("lead", "g_1"), ("desk", "g_2")]).unwrap();
    world.import("demo", &process("p", &["lead", "desk"]), "two");
    world.publish("demo", "p", &[("lead", "g_1"), ("desk", "g_2")]).unwrap();
    let mut remap = |version, roles: &[(&str, &str)]| {
        let (org, process, by) = ("demo".to_owned(), "p".to_owned(), "u_ops".to_owned());
        world.run(&CatalogCommand::MapRoles { org, process, version, roles: map(roles), by })
    };
    assert_eq!(remap(1, &[("lead", "g_9")]), Ok(CatalogReply::Mapped));
    assert_eq!(remap(1, &[("boss", "g_9")]).unwrap_err().code, Code::Invalid);
    assert_eq!(remap(3, &[("lead", "g_9")]).unwrap_err().code, Code::NotFound);
    let roles = |number| read::version(&world.state, "demo", "p", number).unwrap().unwrap().roles;
    assert_eq!(roles(1), map(&[("lead", "g_9"), ("desk", "g_2")]));
    assert_eq!(roles(2), map(&[("lead", "g_1"), ("desk", "g_2")]));
    let mapping = |number| read::version(&world.state, "demo", "p", number).unwrap().unwrap().mapping;
    assert_eq!((mapping(1), mapping(2)), (1, 0), "only a map that was taken gets a number");
}

#[test]
fn lists_go_on_after_a_name() {
    let mut world = World::default();
    for name in ["b", "a", "c", "a-b"] {
        world.released("demo", name, name);
    }
    let names = |after, limit| -> Vec<String> {
        let rows = read::list(&world.state, "demo", after, limit).unwrap();
        rows.into_iter().map(|row| row.process.name).collect()
    };
    assert_eq!(names(None, 3), ["a", "a-b", "b"]);
    assert_eq!(names(Some("b"), 3), ["c"]);
    assert_eq!(read::heads(&world.state, "demo", Some("b"), 3).unwrap()[0].0, "c");
}

#[test]
fn keys_are_numbered_and_the_clock_never_runs_back() {
    let mut world = World::default();
    for n in [1, 2] {
        let reply = world.run(&CatalogCommand::AddKey { secret: [u8::try_from(n).unwrap(); 32] });
        assert_eq!(reply, Ok(CatalogReply::KeyAdded { key: n }));
    }
    assert_eq!(read::keys(&world.state).unwrap(), [(1, [1; 32]), (2, [2; 32])]);
    world.import("demo", &process("p", &[]), "one");
    let publish = CatalogCommand::Publish {
        org: "demo".to_owned(),
        process: "p".to_owned(),
        roles: map(&[]),
        escalations: None,
        by: "u_ops".to_owned(),
        hash: None,
    };
    apply(&mut world.state, Timestamp(-5), &publish).unwrap().unwrap();
    assert_eq!(read::latest(&world.state, "demo", "p").unwrap().unwrap().published_at, Timestamp(3));
}
