//! Uploads, facts about them, and opening them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_proto::{FileId, GroupId};
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::store::{Read, Store};

use super::world::{SUPPLIER, World, at, text, wait};
use crate::api::FileError;

/// More than one chunk.
fn bytes() -> Vec<u8> {
    (0..600_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

fn upload(world: &World, request: &str) -> FileId {
    let content = STANDARD.encode(bytes());
    let call = format!(
        r#"{{"fileName":"../r.bin","contentType":"application/x","contentBase64":"{content}","requestId":"{request}"}}"#
    );
    let file = world.ok("a1", "upload", &call);
    assert_eq!(at(&file, "bytes").unwrap().to_string(), "600000");
    // The same call again gives the same file and stores nothing more (R/I-01).
    let rows = |world: &World| (0..4).map(|n| world.groups.state(GroupId::Shard(n)).rows().count()).sum::<usize>();
    let before = rows(world);
    assert_eq!((world.ok("a1", "upload", &call), rows(world)), (file.clone(), before));
    text(&file, "id").parse().unwrap()
}

/// Starts a run, claims its step and submits `file` as evidence: the envelope.
fn submit(world: &World, file: &str, n: usize) -> agentprocess::json::Value {
    let start =
        format!(r#"{{"process":"supplier-onboarding","inputs":{{"vendorName":"A","amount":1}},"requestId":"s{n}"}}"#);
    let run = text(&world.ok("mira", "start_run", &start), "run.id");
    let claim = format!(r#"{{"runId":"{run}","stepId":"check_vendor","requestId":"c{n}"}}"#);
    let token = text(&world.ok("a1", "claim", &claim), "token");
    let call = format!(
        r#"{{"token":"{token}","output":{{"cleared":true,"summary":"s"}},"evidence":[{{"kind":"file","ref":"{file}"}}],
            "summary":"s","next":"approve","reason":"r","requestId":"w{n}"}}"#
    );
    world.call("a1", "submit", &call)
}

fn url(envelope: &agentprocess::json::Value) -> (String, String) {
    let url = text(envelope, "data.data.steps.check_vendor.evidence.0.url");
    let (id, query) = url.strip_prefix("https://q.example/files/").unwrap().split_once('?').unwrap();
    (id.to_owned(), query.to_owned())
}

/// R/F-02 R/F-03
#[test]
fn a_url_opens_the_bytes_for_a_while() {
    let world = World::new();
    world.publish(SUPPLIER);
    let file = upload(&world, "u1");
    let (id, query) = url(&submit(&world, &file.to_string(), 1));
    let body = wait(world.api.file(&id, &query)).unwrap();
    assert_eq!((body.bytes, body.content_type.as_str()), (bytes(), "application/x"));
    world.advance(14);
    assert!(wait(world.api.file(&id, &query)).is_ok());
    let other = upload(&world, "u2").to_string();
    assert_ne!(other, id, "the same bytes twice are two files");
    for (id, query) in [
        (other.as_str(), query.clone()),
        (id.as_str(), query.replace("org=demo", "org=other")),
        (id.as_str(), query.replace("exp=", "exp=9")),
        (id.as_str(), query.replace("key=1", "key=2")),
        (id.as_str(), String::new()),
    ] {
        assert_eq!(wait(world.api.file(id, &query)), Err(FileError::NotSigned), "{query}");
    }
    world.advance(1);
    assert_eq!(wait(world.api.file(&id, &query)), Err(FileError::Expired));
}

/// R/F-04 and FILE-VERIFY
#[test]
fn facts_are_of_this_organization_and_of_the_stored_bytes() {
    let world = World::new();
    world.publish(SUPPLIER);
    let file = upload(&world, "u1");
    let issue = |envelope: &agentprocess::json::Value| text(envelope, "error.issues.0");
    let theirs =
        world.ok("b1", "upload", r#"{"fileName":"r","contentType":"t","contentBase64":"aGVsbG8=","requestId":"u"}"#);
    let theirs = text(&theirs, "id");
    let no_shard = format!("f_zz{}", &theirs[4..]);
    for (n, missing) in [theirs.as_str(), no_shard.as_str(), "f_000", "r_1"].into_iter().enumerate() {
        assert_eq!(issue(&submit(&world, missing, n)), format!("evidence {missing}: not found"));
    }
    let (id, query) = url(&submit(&world, &file.to_string(), 10));
    // Damage the second chunk.
    let group = GroupId::Shard(file.0.shard);
    let mut state = world.groups.state(group);
    let key = Key::FileChunk { file, index: 1 }.encode();
    let mut chunk = state.get(&key).unwrap().unwrap();
    *chunk.last_mut().unwrap() ^= 1;
    state.put(key, chunk);
    world.groups.set_state(group, state);
    assert_eq!(issue(&submit(&world, &file.to_string(), 11)), format!("evidence {file}: hash mismatch"));
    assert_eq!(wait(world.api.file(&id, &query)), Err(FileError::Damaged));
}
