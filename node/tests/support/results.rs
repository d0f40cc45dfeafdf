//! Judges results by our own schemas, and by the protocol's when the reference data is beside the project.
//! Included where it is needed with `#[path]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agentprocess::json::Value;
use jsonschema::{Registry, Validator};

/// The judges of one tool's result, by name.
type Judges = BTreeMap<String, Vec<(&'static str, Validator)>>;

/// Checks the `data` of a tool's `ok` envelope.
pub fn check_result(tool: &str, data: &Value) -> Result<(), String> {
    static JUDGES: OnceLock<Judges> = OnceLock::new();
    let judges = JUDGES.get_or_init(load).get(tool).ok_or_else(|| format!("no tool {tool}"))?;
    let data: serde_json::Value = serde_json::from_str(&data.to_string()).map_err(|e| e.to_string())?;
    let faults = judges.iter().flat_map(|(whose, judge)| {
        judge.iter_errors(&data).map(move |e| format!("{whose}: {} at {}", e, e.instance_path())).collect::<Vec<_>>()
    });
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(format!("{tool}: {}\n{data}", faults.join("; "))) }
}

/// The folder of our schemas.
pub fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
}

/// The folder of the protocol's schemas, or a message that they are not there.
pub fn upstream() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/upstream/schemas/core-2");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is absent, so nothing is held against the protocol's own schemas", folder.display());
    None
}

/// Reads a JSON file.
pub fn read(file: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// A validator of one of our schemas, with the shared shapes at hand.
pub fn validator(schema: &serde_json::Value) -> Validator {
    static SHARED: OnceLock<Registry<'static>> = OnceLock::new();
    let registry = SHARED.get_or_init(|| {
        let files = std::fs::read_dir(ours().join("shared")).unwrap().map(|f| read(&f.unwrap().path()));
        let add = |registry: jsonschema::RegistryBuilder<'static>, schema: serde_json::Value| {
            let id = schema["$id"].as_str().unwrap().to_owned();
            registry.add(id, schema).unwrap()
        };
        files.fold(Registry::new(), add).prepare().unwrap()
    });
    jsonschema::options().with_registry(registry).build(schema).unwrap()
}

fn load() -> Judges {
    let mut judges = Judges::new();
    for file in std::fs::read_dir(ours().join("tools")).unwrap().map(|f| f.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(tool) = name.strip_suffix(".result.json") {
            let mut all = vec![("our schema", validator(&read(&file)))];
            if let Some(folder) = upstream() {
                let theirs = read(&folder.join("tools").join(&name));
                all.push(("the protocol's schema", jsonschema::validator_for(&theirs).unwrap()));
            }
            judges.insert(tool.to_owned(), all);
        }
    }
    assert_eq!(judges.len(), 14, "one result schema for each tool");
    judges
}
