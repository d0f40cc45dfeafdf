//! Any JSON is arguments of any tool: the answer is an envelope, and no input stops a replica.
//!
//! Input: a byte that picks tool and caller, then JSON text in which `RUN` and `TOKEN` stand for real ones.
#![no_main]

use std::cell::RefCell;

use agentprocess::json;
use libfuzzer_sys::fuzz_target;
use quorate::api::{DEPTH_MAX, tools};
use quorate_fuzz::{World, code};

/// What a world holds at most of what it was given, in bytes.
const GIVEN_BYTES_MAX: usize = 16 << 20;
/// What a call leaves beside its arguments, about, in bytes.
const CALL_BYTES: usize = 4 << 10;

thread_local! {
    /// The world and what it was given, in bytes and some for each call: it starts over to keep memory bounded.
    static WORLD: RefCell<(World, usize)> = RefCell::new((World::new(), 0));
}

fuzz_target!(|input: &[u8]| {
    let Some((pick, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else {
        assert!(json::parse(text, DEPTH_MAX).is_err(), "JSON is UTF-8");
        return;
    };
    WORLD.with_borrow_mut(|(world, given)| {
        *given += text.len() + CALL_BYTES;
        if *given > GIVEN_BYTES_MAX {
            (*world, *given) = (World::new(), 0);
        }
        let text = text.replace("RUN", &world.run).replace("TOKEN", &world.token);
        let read = json::parse(text.as_bytes(), DEPTH_MAX);
        if let Ok(arguments) = &read {
            let compact = arguments.to_string();
            assert_eq!(json::size(text.as_bytes()).compact, compact.len());
            assert_eq!(json::parse(compact.as_bytes(), DEPTH_MAX).as_ref(), Ok(arguments));
        }
        let tool = &tools()[usize::from(pick & 0x3f) % tools().len()];
        let caller = if pick & 0x40 == 0 { &world.agent } else { &world.person };
        let envelope = world.call(caller, tool.name, &text);
        assert!(read.is_ok() || code(&envelope).as_deref() == Some("invalid"), "{envelope}");
    });
});
