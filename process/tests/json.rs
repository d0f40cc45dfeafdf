//! Properties of exact JSON.
#![expect(clippy::unwrap_used, reason = "tests")]

use agentprocess::json::{DEPTH_MAX, Number, Object, Value, canonical, parse, size};
use proptest::prelude::*;

/// Number texts of every spelling.
fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("finite", |d| d.is_finite()).prop_map(|d| format!("{d:e}")),
    ]
}

/// Doubles, those that lie halfway between two shortest texts among them.
fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        (1u32 << 17..1 << 18, any::<u32>()).prop_map(|(a, b)| f64::from(a) * 4_294_967_296.0 + f64::from(b) + 0.25)
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number_text().prop_map(|text| Value::Number(Number::parse(&text).unwrap())),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object.set(key, value);
                }
                Value::Object(object)
            }),
        ]
    })
}

/// The same value with every object's keys in the other order and every number spelled otherwise.
fn respelled(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let (mantissa, exponent) = number.as_str().split_once(['e', 'E']).unwrap_or((number.as_str(), "0"));
            let zeros = if mantissa.contains('.') { "0" } else { ".00" };
            Value::Number(Number::parse(&format!("{mantissa}{zeros}E{exponent}")).unwrap())
        }
        Value::Array(items) => Value::Array(items.iter().map(respelled).collect()),
        Value::Object(object) => {
            let mut turned = Object::new();
            for (key, value) in object.iter().collect::<Vec<_>>().into_iter().rev() {
                turned.set(key, respelled(value));
            }
            Value::Object(turned)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// The same value with white space wherever it may stand and every character of a string escaped.
fn spread(value: &Value) -> String {
    let escaped = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<Vec<_>>().concat();
    match value {
        Value::String(text) => format!(" \"{}\"\t", escaped(text)),
        Value::Array(items) => format!("[ {}\n]", items.iter().map(spread).collect::<Vec<_>>().join(" ,\r\n")),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| format!(" \"{}\" :{}", escaped(key), spread(value)));
            format!("{{{} }}", members.collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("\n{value} "),
    }
}

/// How many values there are, keys among them.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(object) => object.iter().map(|(_, value)| 1 + values(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_reads_back_to_the_letter(value in value()) {
        let text = value.to_string();
        let read = parse(text.as_bytes(), DEPTH_MAX).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn the_size_is_that_of_the_compact_text_however_it_is_spelled(value in value()) {
        let compact = value.to_string();
        prop_assert_eq!(size(compact.as_bytes()).compact, compact.len());
        let spread = spread(&value);
        prop_assert_eq!(parse(spread.as_bytes(), DEPTH_MAX), Ok(value.clone()));
        prop_assert_eq!(size(spread.as_bytes()), size(compact.as_bytes()), "{}", spread);
        prop_assert!(values(&value) <= size(compact.as_bytes()).structure + 1, "{}", compact);
    }

    #[test]
    fn any_bytes_have_a_size(text: Vec<u8>) {
        let size = size(&text);
        prop_assert!(size.structure <= size.compact && size.compact <= 2 * text.len());
    }

    #[test]
    fn the_canonical_form_is_the_values(a in value(), b in value()) {
        prop_assert_eq!(a == b, canonical(&a) == canonical(&b));
        let twin = respelled(&a);
        prop_assert_eq!(&twin, &a);
        prop_assert_eq!(canonical(&twin), canonical(&a));
        // It is JSON of the same value, and its own canonical form.
        let read = parse(canonical(&a).as_bytes(), DEPTH_MAX).unwrap();
        prop_assert_eq!(&read, &a);
        prop_assert_eq!(canonical(&read), canonical(&a));
    }

    #[test]
    fn numbers_order_as_decimals(digits in 0u64..1_000_000, scale in 0usize..9, shift in -400i32..400) {
        let spell = |n: u64| {
            let whole = format!("{n:010}");
            let (left, right) = whole.split_at(10 - scale);
            let left = left.trim_start_matches('0');
            let left = if left.is_empty() { "0" } else { left };
            let fraction = if right.is_empty() { String::new() } else { format!(".{right}") };
            Number::parse(&format!("{left}{fraction}e{shift}")).unwrap()
        };
        let plain = Number::parse(&format!("{digits}e{}", shift - i32::try_from(scale).unwrap())).unwrap();
        prop_assert_eq!(spell(digits), plain.clone());
        prop_assert_eq!(spell(digits).canonical(), plain.canonical());
        prop_assert!(spell(digits + 1) > plain);
        prop_assert_ne!(spell(digits + 1).canonical(), plain.canonical());
    }

    #[test]
    fn on_doubles_the_canonical_form_is_rfc_8785(doubles in prop::collection::btree_map(any::<String>(), double(), 0..8)) {
        let theirs: serde_json::Map<String, serde_json::Value> = doubles
            .into_iter()
            .filter_map(|(key, double)| Some((key, serde_json::Value::Number(serde_json::Number::from_f64(double)?))))
            .collect();
        let ours = parse(serde_json::to_string(&theirs).unwrap().as_bytes(), DEPTH_MAX).unwrap();
        let form = serde_jcs::to_string(&theirs).unwrap();
        // Texts between two doubles have several shortest spellings; only RFC 8785's own counts as exact.
        let exact = ours.as_object().unwrap().iter().all(|(_, value)| value.as_number().unwrap().is_double());
        prop_assert_eq!(canonical(&ours) == form, exact);
        let read = parse(form.as_bytes(), DEPTH_MAX).unwrap();
        for (_, value) in read.as_object().unwrap().iter() {
            prop_assert!(value.as_number().unwrap().is_double(), "{}", value);
        }
        prop_assert_eq!(canonical(&read), form);
    }

    #[test]
    fn no_bytes_break_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse(&bytes, DEPTH_MAX);
    }
}

#[test]
fn a_general_canonicalizer_would_round() {
    // Why the exact form exists: two values must not share a snapshot.
    let theirs: serde_json::Value = serde_json::from_str("[12345678901234567890, 12345678901234567891]").unwrap();
    assert_eq!(serde_jcs::to_string(&theirs).unwrap(), "[12345678901234567000,12345678901234567000]");
    let ours = parse(b"[12345678901234567890, 12345678901234567891]", DEPTH_MAX).unwrap();
    assert_eq!(canonical(&ours), "[12345678901234567890,12345678901234567891]");
}
