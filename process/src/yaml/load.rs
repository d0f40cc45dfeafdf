//! From parser events to one value.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScanError, Tag};

use super::scalar::{Fault, resolve};
use super::{BYTES_MAX, DEPTH_MAX, NODES_MAX};
use crate::issues::{Issues, at, only};
use crate::json::{Object, Value};

/// Reads frontmatter text whose first line is line `first_line` of the file.
///
/// Unreadable YAML is one issue alone. Otherwise the value comes with what is wrong in it; places that are wrong hold
/// null, so that the rest can still be judged.
pub(crate) fn load(text: &str, first_line: usize) -> Result<(Value, Issues), Issues> {
    if let Some((number, _)) = text.lines().enumerate().find(|(_, line)| !line.chars().all(printable)) {
        return Err(only("frontmatter", format!("line {}: a character that YAML does not allow", number + first_line)));
    }
    let mut loader = Loader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => loader.event(event, span.start.line() + first_line - 1)?,
            Err(error) => return Err(unreadable(&error, first_line)),
        }
    }
    Ok((loader.root.unwrap_or(Value::Null), loader.issues))
}

fn unreadable(error: &ScanError, first_line: usize) -> Issues {
    // The scanner has a limit of its own on flow style and may meet it before any event comes.
    if error.info().contains("recursion limit") {
        return too_deep();
    }
    only("frontmatter", format!("line {}: YAML: {}", error.marker().line() + first_line - 1, error.info()))
}

fn too_deep() -> Issues {
    only("frontmatter", format!("nested too deeply; at most {DEPTH_MAX} levels"))
}

/// YAML's `c-printable`.
fn printable(c: char) -> bool {
    matches!(c, '\t' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// What a finished value costs wherever an alias repeats it.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

enum Frame {
    List { items: Vec<Value> },
    Map { members: Vec<(String, Value)>, seen: BTreeSet<String>, key: Key },
}

enum Key {
    /// The next value is a key.
    None,
    /// The next value belongs to this key.
    Some(String),
    /// The next value belongs to a key that was refused.
    Refused,
}

struct Open {
    frame: Frame,
    anchor: usize,
    fits: bool,
    size: Size,
}

#[derive(Default)]
struct Loader {
    documents: usize,
    open: Vec<Open>,
    root: Option<Value>,
    anchors: BTreeMap<usize, (Value, Size)>,
    total: Size,
    issues: Issues,
}

impl Loader {
    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), Issues> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(explicit) => {
                self.documents += 1;
                if explicit || self.documents > 1 {
                    return Err(only("frontmatter", format!("line {line}: more than one document; keep one mapping")));
                }
                Ok(())
            }
            Event::Alias(id) => self.alias(id, line),
            Event::Scalar(text, style, anchor, tag) => {
                let size = Size { nodes: 1, bytes: text.len(), depth: 0 };
                let value = resolve(&text, style, tag.as_deref()).unwrap_or_else(|fault| self.fault(&fault));
                self.charge(size, false)?;
                self.finish(value, anchor, size)
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(Frame::List { items: Vec::new() }, anchor, fits(tag.as_deref(), "seq"))
            }
            Event::MappingStart(anchor, tag) => {
                let frame = Frame::Map { members: Vec::new(), seen: BTreeSet::new(), key: Key::None };
                self.start(frame, anchor, fits(tag.as_deref(), "map"))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn start(&mut self, frame: Frame, anchor: usize, fits: bool) -> Result<(), Issues> {
        if !fits {
            let _ = self.fault(&Fault::Tag);
        }
        self.open.push(Open { frame, anchor, fits, size: Size { nodes: 1, bytes: 0, depth: 1 } });
        self.charge(Size { nodes: 1, ..Size::default() }, false)?;
        self.nesting(0)
    }

    fn end(&mut self) -> Result<(), Issues> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.frame {
            Frame::List { items } => Value::Array(items),
            // Keys were compared one by one: twice is impossible here.
            Frame::Map { members, .. } => Object::from_members(members).map_or(Value::Null, Value::Object),
        };
        self.finish(if open.fits { value } else { Value::Null }, open.anchor, open.size)
    }

    fn alias(&mut self, id: usize, line: usize) -> Result<(), Issues> {
        let Some((value, size)) = self.anchors.get(&id).cloned() else {
            return Err(only("frontmatter", format!("line {line}: an alias inside of what it stands for")));
        };
        self.nesting(size.depth)?;
        self.charge(size, true)?;
        self.finish(value, 0, size)
    }

    /// Hands a finished value to whatever is open around it.
    fn finish(&mut self, value: Value, anchor: usize, size: Size) -> Result<(), Issues> {
        if anchor != 0 {
            self.charge(size, true)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        open.size.nodes += size.nodes;
        open.size.bytes += size.bytes;
        open.size.depth = open.size.depth.max(size.depth + 1);
        match &mut open.frame {
            Frame::List { items } => items.push(value),
            Frame::Map { members, seen, key } => match std::mem::replace(key, Key::Refused) {
                Key::Some(name) => {
                    members.push((name, value));
                    *key = Key::None;
                }
                Key::Refused => *key = Key::None,
                Key::None => match new_key(value, seen) {
                    Ok(name) => *key = Key::Some(name),
                    Err(twice) => self.refused_key(twice.as_deref()),
                },
            },
        }
        Ok(())
    }

    fn refused_key(&mut self, twice: Option<&str>) {
        if self.issues.full() {
            return;
        }
        let path = self.path();
        if let Some(name) = twice {
            self.issues.add(at(&path, name), "duplicate key; keep one");
        } else {
            self.issues.add(if path.is_empty() { "frontmatter" } else { &path }, "key must be text; quote the key");
        }
    }

    /// Counts what was read against the limits; `copied` values exist once more because of an anchor or alias.
    fn charge(&mut self, size: Size, copied: bool) -> Result<(), Issues> {
        self.total.nodes += size.nodes;
        self.total.bytes += size.bytes;
        if self.total.nodes <= NODES_MAX && self.total.bytes <= BYTES_MAX {
            return Ok(());
        }
        Err(only("frontmatter", if copied { "aliases expand too far; write it shorter" } else { "too many values" }))
    }

    fn nesting(&self, further: usize) -> Result<(), Issues> {
        if self.open.len() + further <= DEPTH_MAX {
            return Ok(());
        }
        Err(too_deep())
    }

    /// Notes what is wrong with the value that is being read; null takes its place.
    fn fault(&mut self, fault: &Fault) -> Value {
        if self.issues.full() {
            return Value::Null;
        }
        let path = self.path();
        self.issues.add(if path.is_empty() { "frontmatter" } else { &path }, fault.message());
        Value::Null
    }

    /// Where the value that is being read will stand; a key stands at its mapping.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match &open.frame {
            Frame::List { items } => format!("{path}[{}]", items.len()),
            Frame::Map { key: Key::Some(name), .. } => at(&path, name),
            Frame::Map { key: Key::None | Key::Refused, .. } => path,
        })
    }
}

/// Keys must be text, each once, compared after resolution (YAML-KEYS); else the name that is there already.
fn new_key(value: Value, seen: &mut BTreeSet<String>) -> Result<String, Option<String>> {
    let Value::String(name) = value else { return Err(None) };
    if seen.insert(name.clone()) { Ok(name) } else { Err(Some(name)) }
}

/// Whether a list or mapping may carry this tag.
fn fits(tag: Option<&Tag>, word: &str) -> bool {
    tag.is_none_or(|tag| super::scalar::core_tag(tag).as_deref() == Some(word))
}
