#![expect(clippy::unwrap_used, reason = "tests")]

use super::{DEPTH_MAX, Number, Value, canonical, parse};

fn value(text: &str) -> Value {
    parse(text.as_bytes(), DEPTH_MAX).unwrap()
}

fn refused(text: &str) -> String {
    parse(text.as_bytes(), DEPTH_MAX).unwrap_err().message
}

#[test]
fn texts_come_back_as_written() {
    for text in
        ["1e3", "-0", "1.0", "1E+3", "12345678901234567890.50", "[1,{\"b\":null,\"a\":[true,false]}]", r#""é😀\u0000""#]
    {
        assert_eq!(value(text).to_string(), text);
    }
    assert_eq!(value(" [ \"\\u00e9\\ud83d\\ude00\\/\" ] ").to_string(), "[\"é😀/\"]");
}

#[test]
fn what_is_refused() {
    let cases = [
        (r#"{"a":1,"b":2,"\u0061":3}"#, "duplicate key `a`"),
        (r#"[{"x":{"a":1,"a":1}}]"#, "duplicate key `a`"),
        (r#""\ud800""#, "lone surrogate"),
        (r#""\udc00\ud800""#, "lone surrogate"),
        (r#""\ud800\u0041""#, "lone surrogate"),
        ("\"\n\"", "control character"),
        (r#""\x""#, "unknown escape"),
        (r#""\u12"#, "four hexadecimal"),
        ("", "unexpected end"),
        ("[1,]", "expected a value"),
        ("{\"a\":1,}", "expected a key"),
        ("{a:1}", "expected a key"),
        ("1 2", "after the value"),
        ("nul", "expected a value"),
        ("NaN", "expected a value"),
        ("\u{feff}1", "expected a value"),
    ];
    for (text, message) in cases {
        assert!(refused(text).contains(message), "{text}: {}", refused(text));
    }
    assert_eq!(parse(b"\"\xff\"", DEPTH_MAX).unwrap_err().offset, 1);
}

#[test]
fn number_bounds() {
    // NUM-EXACT
    let digits = "9".repeat(1000);
    for good in ["0", "-0.0", "1e9999", "1e-9999", "1e+0000", digits.as_str()] {
        assert!(Number::parse(good).is_some(), "{good}");
    }
    let more = "9".repeat(1001);
    for bad in
        ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1e10000", "1e-10000", "0x1", "1e1e1", "--1", "1.2.3", &more]
    {
        assert!(Number::parse(bad).is_none(), "{bad}");
    }
}

#[test]
fn depth_is_bounded() {
    // JSON-LIMITS: neither parsing nor dropping may overflow the stack.
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(nested(100).as_bytes(), 100).is_ok());
    assert!(parse(nested(101).as_bytes(), 100).is_err());
    assert!(parse(nested(DEPTH_MAX).as_bytes(), usize::MAX).is_ok());
    assert!(parse("[".repeat(1_000_000).as_bytes(), usize::MAX).is_err());
    assert!(parse("{\"a\":".repeat(1_000_000).as_bytes(), usize::MAX).is_err());
}

#[test]
fn a_large_object_is_not_quadratic() {
    let members: Vec<String> = (0..200_000).map(|i| format!("\"k{i}\":{i}")).collect();
    let text = format!("{{{}}}", members.join(","));
    let (a, b) = (value(&text), value(&text));
    assert_eq!(a, b);
    assert_eq!(canonical(&a), canonical(&b));
}

#[test]
fn numbers_compare_by_exact_decimal_value() {
    let number = |text: &str| Number::parse(text).unwrap();
    for (a, b) in [("1", "1.0"), ("1e3", "1000"), ("25e-1", "2.50"), ("-0", "0e99"), ("1e-7", "0.0000001")] {
        assert_eq!(number(a), number(b));
        assert_eq!(number(a).canonical(), number(b).canonical());
    }
    let ascending = [
        "-1e5",
        "-2",
        "-1.5",
        "0",
        "1e-400",
        "0.1",
        "0.1000000000000000055",
        "9",
        "10",
        "12345678901234567890",
        "12345678901234567891",
    ];
    for pair in ascending.windows(2) {
        assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
    }
    assert_eq!(number("1.5e1").as_u64(), Some(15));
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    for none in ["18446744073709551616", "-1", "0.5", "1e30"] {
        assert_eq!(number(none).as_u64(), None);
    }
}

#[test]
fn canonical_numbers_are_laid_out_as_ecmascript_does() {
    let cases = [
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("123e-8", "0.00000123"),
        ("123e-9", "1.23e-7"),
        ("-1.50", "-1.5"),
        ("1e9999", "1e+9999"),
        ("12345678901234567890", "12345678901234567890"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
    ];
    for (text, form) in cases {
        assert_eq!(Number::parse(text).unwrap().canonical(), form);
    }
    let double = |text: &str| Number::parse(text).unwrap().is_double();
    assert!(double("0.1") && double("1e3") && double("-0") && double("9007199254740992"));
    // Halfway between two texts of equal length: the even one counts.
    assert!(double("901871414628302.2") && !double("901871414628302.3") && !double("901871414628302.25"));
    assert!(!double("12345678901234567890") && !double("0.10000000000000001") && !double("1e400") && !double("1e-400"));
}

#[test]
fn canonical_keys_sort_by_utf16() {
    let form = canonical(&value("{\"\u{ffff}\":1,\"\u{10000}\":2,\"a\":{\"c\":1e0,\"b\":\"\\u001f\\n\"}}"));
    assert_eq!(form, "{\"a\":{\"b\":\"\\u001f\\n\",\"c\":1},\"\u{10000}\":2,\"\u{ffff}\":1}");
}

#[test]
fn an_object_that_other_libraries_take_for_a_number_stays_an_object() {
    let text = r#"{"$serde_json::private::Number":"1e999"}"#;
    assert_eq!(value(text).to_string(), text);
    assert!(value(text).as_object().is_some());
}
