//! Writes a whole `PROCESS.md` from the short form of the scenarios.
//!
//! A step is `<id> <kind>[@<person>] [<value>][, <further keys>]`, the rest being YAML as a file has it:
//! `r approve@reviewer, on_reject: a, due: 2d` or `l parallel [x, y], next: z`.

/// A document from its parts; `extra` are further top-level lines.
pub fn document(name: &str, description: &str, extra: &[String], steps: &[String], body: &str) -> String {
    let mut text = format!("---\nname: {name}\ndescription: {description}\n");
    for line in extra {
        text += line;
        text.push('\n');
    }
    text += "steps:\n";
    for sketch in steps {
        text += &format!("  - {{ {} }}\n", step(sketch));
    }
    text + "---\n" + body
}

/// The flow mapping of one step.
fn step(sketch: &str) -> String {
    let (head, rest) = split_top(sketch);
    let mut words = head.splitn(3, ' ');
    let (id, kind, value) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or("").trim());
    let (kind, person) = kind.split_once('@').map_or((kind, None), |(k, p)| (k, Some(p)));
    let value = match (kind, value) {
        ("agent" | "task" | "approve", "") => format!("Do {id}."),
        (_, value) => value.to_owned(),
    };
    let person = person.map_or(String::new(), |p| format!(", person: {p}"));
    let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
    format!("id: {id}, {kind}: {value}{person}{rest}")
}

/// Splits at the first comma outside brackets and quotes.
fn split_top(text: &str) -> (&str, &str) {
    let (mut depth, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if depth == 0 && !quoted => return (text[..at].trim(), text[at + 1..].trim()),
            _ => {}
        }
    }
    (text.trim(), "")
}

#[test]
fn a_sketch_becomes_a_flow_mapping() {
    assert_eq!(step("r approve@reviewer, on_reject: a"), "id: r, approve: Do r., person: reviewer, on_reject: a");
    assert_eq!(step("f parallel [l, r], next: z"), "id: f, parallel: [l, r], next: z");
    assert_eq!(step("w wait 2h"), "id: w, wait: 2h");
}
