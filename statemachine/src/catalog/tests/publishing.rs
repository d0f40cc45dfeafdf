use agentprocess::time::Timestamp;
use quorate_proto::Code;
use quorate_proto::catalog::CatalogCommand;

use super::{World, map, process};
use crate::catalog::read;

/// D/B-01: a draft can be seen by operators, not started or listed.
#[test]
fn a_draft_is_not_in_the_catalog() {
    let mut world = World::default();
    world.import("demo", &process("p", &["lead"]), "one");
    assert_eq!(read::latest(&world.state, "demo", "p"), Ok(None));
    assert_eq!(read::list(&world.state, "demo", None, 10), Ok(vec![]));
    let drafts = read::drafts(&world.state, "demo", None, 10).unwrap();
    assert_eq!(drafts.len(), 1);
    assert_eq!((drafts[0].draft.hash.as_str(), drafts[0].imported_at), ("hash of one", Timestamp(1)));
    assert_eq!(read::drafts(&world.state, "demo", Some("p"), 10), Ok(vec![]));
}

/// D/B-02: every role bound, no binding for an unused role; a refusal names the role and publishes nothing.
#[test]
fn roles_must_be_bound_exactly() {
    let mut world = World::default();
    world.import("demo", &process("p", &["lead", "desk"]), "one");
    let refused = world.publish("demo", "p", &[("lead", "g_1"), ("extra", "g_2")]).unwrap_err();
    assert_eq!(refused.code, Code::Invalid);
    assert_eq!(refused.issues.len(), 2, "{refused:?}");
    assert!(refused.issues[0].starts_with("roles.extra: "), "{refused:?}");
    assert!(refused.issues[1].starts_with("roles.desk: "), "{refused:?}");
    let refused = world.publish("demo", "p", &[("lead", "g_1"), ("desk", "  ")]).unwrap_err();
    assert!(refused.issues[0].starts_with("roles.desk: "), "{refused:?}");
    assert_eq!(read::latest(&world.state, "demo", "p"), Ok(None));

    assert_eq!(world.publish("demo", "p", &[("lead", "g_1"), ("desk", "g_2")]), Ok((1, true)));
    // Without roles no bindings are needed.
    assert_eq!(world.released("demo", "q", "one"), (1, true));
}

/// D/B-03: 1, 2, 3…; refused attempts use no number.
#[test]
fn numbers_have_no_gaps() {
    let mut world = World::default();
    assert_eq!(world.released("demo", "p", "one"), (1, true));
    world.import("demo", &process("p", &["lead"]), "two");
    assert!(world.publish("demo", "p", &[]).is_err());
    assert_eq!(world.publish("demo", "p", &[("lead", "g")]), Ok((2, true)));
    assert_eq!(world.released("demo", "p", "three"), (3, true));
    let numbers = read::versions(&world.state, "demo", "p", None, 10).unwrap();
    assert_eq!(numbers.iter().map(|v| v.number).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(read::versions(&world.state, "demo", "p", Some(3), 1).unwrap()[0].number, 2);
}

/// D/B-04: identical to the latest returns it and creates nothing; identical to an older one is a new version.
#[test]
fn publishing_the_latest_again_creates_nothing() {
    let mut world = World::default();
    world.released("demo", "p", "one");
    let stands = read::latest(&world.state, "demo", "p").unwrap();
    assert_eq!(world.publish("demo", "p", &[]), Ok((1, false)));
    assert_eq!(world.released("demo", "p", "one"), (1, false));
    assert_eq!(read::latest(&world.state, "demo", "p").unwrap(), stands);
    assert_eq!(world.released("demo", "p", "two"), (2, true));
    assert_eq!(world.released("demo", "p", "one"), (3, true));
    let back = read::latest(&world.state, "demo", "p").unwrap().unwrap();
    assert_eq!((back.number, back.hash.as_str()), (3, "hash of one"));
}

/// D/B-07: a later import changes no published version.
#[test]
fn a_version_never_changes() {
    let mut world = World::default();
    world.released("demo", "p", "one");
    let first = read::version(&world.state, "demo", "p", 1).unwrap().unwrap();
    world.import("demo", &process("p", &["lead"]), "two");
    assert_eq!(read::version(&world.state, "demo", "p", 1).unwrap().as_ref(), Some(&first));
    world.publish("demo", "p", &[("lead", "g")]).unwrap();
    assert_eq!(read::version(&world.state, "demo", "p", 1).unwrap(), Some(first));
    assert_eq!(read::source(&world.state, "demo", "p", 1).unwrap().as_deref(), Some("source of one"));
}

#[test]
fn a_draft_that_changed_is_not_published_unseen() {
    let mut world = World::default();
    world.import("demo", &process("p", &[]), "two");
    let mut publish = |hash: &str| {
        world.run(&CatalogCommand::Publish {
            org: "demo".to_owned(),
            process: "p".to_owned(),
            roles: map(&[]),
            escalations: None,
            by: "u_ops".to_owned(),
            hash: Some(hash.to_owned()),
        })
    };
    assert_eq!(publish("hash of one").unwrap_err().code, Code::Conflict);
    assert!(publish("hash of two").is_ok());
    assert_eq!(World::default().publish("demo", "p", &[]).unwrap_err().code, Code::NotFound);
}
