//! What operators get to see of calls: lines in the log.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use quorate_proto::GroupId;
use quorate_statemachine::shard::read;

use super::world::{World, simple, text, wait};
use crate::groups::Groups as _;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log lines of what `f` does, from warnings up.
fn warnings(f: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::WARN);
    tracing::subscriber::with_default(subscriber.with_writer(move || writer.clone()).finish(), f);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// TOKEN-OTHER: who, whose, where, and by which call.
#[test]
fn a_token_that_another_presents_is_logged() {
    let world = World::new();
    world.publish(&simple("p"));
    let started = world.ok("a1", "start_run", r#"{"process":"p","inputs":{},"requestId":"s"}"#);
    let run = text(&started, "run.id");
    let claimed = world.ok("a1", "claim", &format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c"}}"#));
    let token = text(&claimed, "token");
    for (tool, more) in [
        ("renew", ""),
        ("escalate", r#","note":"stuck""#),
        ("submit", r#","summary":"done","output":{},"evidence":[]"#),
    ] {
        for who in ["a2", "mira"] {
            let request = format!("{tool}-{who}");
            let call = format!(r#"{{"token":"{token}","requestId":"{request}"{more}}}"#);
            let lines = warnings(|| assert_eq!(world.refused(who, tool, &call).0, "forbidden"));
            assert_eq!(lines.len(), 1, "{lines:?}");
            for part in [format!("caller=\"{who}\""), "holder=\"a1\"".to_owned(), format!("run={run}"), request] {
                assert!(lines[0].contains(&part), "{part} is not in {}", lines[0]);
            }
            assert!(!lines[0].contains(&token), "no token in a log");
        }
    }
    let own = format!(r#"{{"token":"{token}","requestId":"own"}}"#);
    let lines = warnings(|| drop(world.ok("a1", "renew", &own)));
    assert!(lines.is_empty(), "{lines:?}");
}

/// ESC-WHERE: an escalation to a group that nobody is known to be in goes through, and administrators hear of it.
#[test]
fn an_escalation_that_nobody_would_see_is_told() {
    for (known, told) in [("g_ops", 0), ("g_other", 1)] {
        let mut world = World::new();
        world.api = world.api.with_attended(Box::new(move |org, group| (org, group) == ("demo", known)));
        world.publish(&simple("p"));
        let started = world.ok("a1", "start_run", r#"{"process":"p","inputs":{},"requestId":"s"}"#);
        let run = text(&started, "run.id");
        let claimed = world.ok("a1", "claim", &format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c"}}"#));
        let call = format!(r#"{{"token":"{}","note":"stuck","requestId":"e"}}"#, text(&claimed, "token"));
        world.ok("a1", "escalate", &call);
        // Told once, however often the call is made again.
        world.ok("a1", "escalate", &call);
        let rows = (0..4)
            .map(GroupId::Shard)
            .flat_map(|shard| wait(world.groups.read(shard, |state, _| read::outbox(state, 0, 10).unwrap())).unwrap());
        let kinds: Vec<_> = rows.map(|(_, notification)| notification.kind).collect();
        assert_eq!(kinds, ["escalation_unattended"; 1][..told]);
    }
}
