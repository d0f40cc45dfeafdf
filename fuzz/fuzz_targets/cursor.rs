//! No text but the real one is a cursor.
//!
//! Input: a byte that picks the case, then edits of a real cursor or a whole text.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use quorate_fuzz::{World, code, edited, texts};

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz_target!(|input: &[u8]| {
    let Some((pick, rest)) = input.split_first() else { return };
    WORLD.with_borrow(|world| {
        let cursor = if pick & 1 == 0 { edited(&world.cursor, rest) } else { String::from_utf8_lossy(rest).into_owned() };
        let tool = ["get_work", "list_runs", "list_processes"][usize::from(pick >> 1) % 3];
        if cursor != world.cursor || tool != "get_work" {
            let envelope = world.call(&world.agent, tool, &texts(&[("cursor", cursor.as_str())]));
            assert_eq!(code(&envelope).as_deref(), Some("invalid"), "{tool} {cursor}");
        }
    });
});
