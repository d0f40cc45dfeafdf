//! Documents that are small to send and were to be large to read: refused at once, for little, and the server goes on.

use std::time::{Duration, Instant};

use agentprocess::json::{Object, Value};

use crate::json::at;
use crate::world::World;

/// How long a refusal may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// What reading may take beyond the most that was held before, in KiB. The allocator takes it from the system in large pieces.
const MEMORY_MAX: u64 = 12 * 1024;

/// D/Y-12, D/Y-13: within a second and a few MB, with a clear word, and the next call is answered.
pub fn documents(world: &dyn World) {
    let file = |lines: &str| format!("---\n{lines}\n---\n\nBody.\n");
    let base = "name: hostile\ndescription: d\nsteps: [{ id: a, agent: do it, next: z }, { id: z, finish: ok }]\n";
    let line = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    let laughs = format!("a0: &a0 [x]\n{}", (1..10).map(line).collect::<String>());
    let items = |n: usize| format!("{}{{ type: string }}{}", "{ type: list, items: ".repeat(n), " }".repeat(n));
    let allowed = format!("{{ type: list, one_of: {}{} }}", "[".repeat(5000), "]".repeat(5000));
    let input = |declared: &str| file(&format!("{base}inputs: {{ x: {declared} }}"));
    let hostile = [
        (file(&format!("{base}{laughs}")), "aliases expand too far"),
        (input(&allowed), "nested too deeply"),
        (input(&items(5000)), "nested too deeply"),
    ];
    // What reading a document needs at all is held once it was read.
    world.publish("A", &input(&items(5)), &|_| "g_rev".to_owned()).unwrap_or_else(|issues| panic!("{issues:?}"));
    let before = peak(world);
    for (source, word) in hostile {
        let begun = Instant::now();
        let issues = world.publish("A", &source, &|_| "g_rev".to_owned()).expect_err(word);
        assert!(begun.elapsed() < PATIENCE, "{word} took {:?}", begun.elapsed());
        assert!(issues.iter().any(|issue| issue.contains(word)), "{issues:?}");
        let described = world.call("a1", "describe", &Value::Object(Object::new())).unwrap();
        assert_eq!(at(&described, "ok"), Some(&Value::from(true)), "{described}");
    }
    if let (Some(before), Some(after)) = (before, peak(world)) {
        assert!(after - before < MEMORY_MAX, "{} KiB more", after - before);
    }
}

/// The most memory that the process ever held, in KiB, where the system says so.
fn peak(world: &dyn World) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.pid()));
    let Ok(status) = status else {
        eprintln!("skipped: memory is not looked at, this system has no /proc");
        return None;
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    Some(line.trim().trim_end_matches(" kB").parse().unwrap())
}
