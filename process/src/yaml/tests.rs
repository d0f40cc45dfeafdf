#![expect(clippy::unwrap_used, reason = "tests")]

use super::load;
use crate::json::{DEPTH_MAX, parse};

/// The value as JSON text; a text without issues only.
fn json(yaml: &str) -> String {
    let (value, issues) = load(yaml, 1).map_err(crate::issues::Issues::into_vec).unwrap();
    assert_eq!(issues.into_vec(), [], "{yaml}");
    value.to_string()
}

/// All issues, one string each.
fn issues(yaml: &str) -> Vec<String> {
    let issues = load(yaml, 1).map_or_else(|issues| issues, |(_, issues)| issues);
    issues.into_vec().iter().map(ToString::to_string).collect()
}

#[test]
fn the_core_schema() {
    let cases = [
        ("[~, null, Null, NULL, ]", "[null,null,null,null]"),
        ("[nULL, yes, no, on, y, 2026-10-06, <<]", r#"["nULL","yes","no","on","y","2026-10-06","<<"]"#),
        ("[true, True, TRUE, false, False, FALSE, tRUE]", r#"[true,true,true,false,false,false,"tRUE"]"#),
        ("[012, 0o17, 0x1F, +3, -0, 1e3, 1., .5, -.5e-2]", "[12,15,31,3,-0,1e3,1,0.5,-0.5e-2]"),
        ("[10000000000000000000, 0x8AC7230489E80000]", "[10000000000000000000,10000000000000000000]"),
        (
            "[1_000, -0x1F, 0b11, 1:30, 0o8, '1', ., +, e3, 1e]",
            r#"["1_000","-0x1F","0b11","1:30","0o8","1",".","+","e3","1e"]"#,
        ),
        (
            "[!!str 012, !!str , !!int '3', !!float 3, !!bool 'true', !!null '', !<tag:yaml.org,2002:str> 1]",
            r#"["012","",3,3,true,null,"1"]"#,
        ),
        ("a: !!seq [1]\nb: !!map {c: 1}", r#"{"a":[1],"b":{"c":1}}"#),
        ("a: &x {n: 1}\nb: *x\nc: [*x]", r#"{"a":{"n":1},"b":{"n":1},"c":[{"n":1}]}"#),
        ("&k a: 1\n*k : 2", ""),
        ("a: >\n  one\n  two\n\n  three\nb: |-\n  x\n  y", r#"{"a":"one two\nthree\n","b":"x\ny"}"#),
        ("", "null"),
        ("# only\n", "null"),
    ];
    for (yaml, expected) in cases {
        if expected.is_empty() {
            assert_eq!(issues(yaml), ["a: duplicate key; keep one"], "{yaml}");
        } else {
            assert_eq!(json(yaml), expected, "{yaml}");
        }
    }
}

#[test]
fn what_is_refused_and_where() {
    let cases = [
        ("a: [1, .inf]", "a[1]: must be finite"),
        ("a: {b: .nan}", "a.b: must be finite"),
        ("a: 12345678901234567890", "a: this number has no exact double"),
        ("a: 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "a: this number has no exact double"),
        ("a: 1e400", "a: this number has no exact double"),
        ("a: 1e99999", "a: this number has no exact double"),
        ("a: !!binary aGk=", "a: unknown tag"),
        ("a: !!timestamp 2026-10-06", "a: unknown tag"),
        ("a: !!set {b: }", "a: unknown tag"),
        ("a: !custom x", "a: unknown tag"),
        ("a: ! x", "a: unknown tag"),
        ("a: !!python/object:x {}", "a: unknown tag"),
        ("a: !!int x", "a: unknown tag"),
        ("a: !!str [x]", "a: unknown tag"),
        ("a: {1: x}", "a: key must be text"),
        ("a: {true: x}", "a: key must be text"),
        ("a: {~: x}", "a: key must be text"),
        ("a: {? [b, c] : x}", "a: key must be text"),
        ("1: x", "frontmatter: key must be text"),
        ("a: {x: 1, 'x': 2}", "a.x: duplicate key"),
        ("a: [{x: 1, \"\\x78\": 2}]", "a[0].x: duplicate key"),
        ("a: *nope", "frontmatter: line 1"),
        ("b: 1\na: &o {x: *o}", "frontmatter: line 2: an alias inside"),
        ("a: 1\n...\nb: 2", "frontmatter: line 3: more than one document"),
        ("--- {a: 1}", "frontmatter: line 1: more than one document"),
        ("a: b: c", "frontmatter: line 1"),
        ("a:\n\tb: c", "frontmatter: line 2"),
        ("a: [1", "frontmatter: line"),
        ("a: 'x", "frontmatter: line"),
        ("a: \"\\ud800\"", "frontmatter: line 1"),
        ("a: \"\u{7}\"", "frontmatter: line 1: a character"),
        ("%YAML 1.1\na: yes", "frontmatter: line"),
    ];
    for (yaml, expected) in cases {
        let found = issues(yaml);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{yaml}: {found:?}");
    }
}

#[test]
fn nesting_is_bounded_in_every_style() {
    // Block nesting without a limit overflows the stack of recursive loaders: 20 KB of `- - -` ends the process.
    let deep = [
        "- ".repeat(10_000),
        "- ".repeat(100_000),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        (0..2000).map(|n| " ".repeat(n) + "a:\n").collect(),
        "? ".repeat(100_000),
    ];
    for yaml in deep {
        let found = issues(&yaml);
        assert!(found[0].contains("nested too deeply") || found[0].contains("line"), "{found:?}");
    }
    assert!(issues(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_empty());
    // An alias brings its own depth.
    let halves = format!("a: &a {}{}\nb: {}*a{}", "[".repeat(40), "]".repeat(40), "[".repeat(40), "]".repeat(40));
    assert!(issues(&halves)[0].contains("nested too deeply"));
}

#[test]
fn aliases_are_bounded_by_values_and_by_bytes() {
    let line = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    let laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned() + &(1..10).map(line).collect::<String>();
    assert_eq!(issues(&laughs), ["frontmatter: aliases expand too far; write it shorter"]);
    let wide = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), vec!["*a"; 1000].join(", "));
    assert_eq!(issues(&wide), ["frontmatter: aliases expand too far; write it shorter"]);
    assert_eq!(issues(&format!("[{}]", "x,".repeat(200_000))), ["frontmatter: too many values"]);
}

#[test]
fn json_is_yaml() {
    let text = r#"{"name": "p", "list": [1, 2.5, true, null, "a\u00e9\/"], "o": {"__proto__": {}}}"#;
    assert_eq!(json(text), parse(text.as_bytes(), DEPTH_MAX).unwrap().to_string());
}
