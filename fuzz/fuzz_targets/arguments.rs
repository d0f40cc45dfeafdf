//! Any JSON is arguments of any tool: the answer is an envelope, and no input stops a replica.
//!
//! Input: a byte that picks tool and caller, then JSON text in which `RUN` and `TOKEN` stand for real ones.
#![no_main]

use std::cell::RefCell;

use agentprocess::json;
use libfuzzer_sys::fuzz_target;
use quorate::api::{DEPTH_MAX, tools};
use quorate_fuzz::World;

thread_local! {
    /// The world and how many calls it has had: it starts over now and then, to keep memory bounded.
    static WORLD: RefCell<(World, u32)> = RefCell::new((World::new(), 0));
}

fuzz_target!(|input: &[u8]| {
    let Some((pick, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else {
        assert!(json::parse(text, DEPTH_MAX).is_err(), "JSON is UTF-8");
        return;
    };
    WORLD.with_borrow_mut(|(world, calls)| {
        *calls += 1;
        if *calls > 5_000 {
            (*world, *calls) = (World::new(), 0);
        }
        let text = text.replace("RUN", &world.run).replace("TOKEN", &world.token);
        let Ok(arguments) = json::parse(text.as_bytes(), DEPTH_MAX + 1) else { return };
        assert_eq!(json::parse(arguments.to_string().as_bytes(), DEPTH_MAX + 1).as_ref(), Ok(&arguments));
        let tool = &tools()[usize::from(pick & 0x3f) % tools().len()];
        let caller = if pick & 0x40 == 0 { &world.agent } else { &world.person };
        world.call(caller, tool.name, arguments);
    });
});
