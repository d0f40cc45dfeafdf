//! Says what a `PROCESS.md` is: its issues, or its hash, roles, systems, needs and warnings.
//!
//! `cargo run -p agentprocess --example inspect -- PROCESS.md …`, also with the folder of a file; exit status 1 if one of
//! the files has issues.
#![expect(clippy::disallowed_methods, reason = "an example of a caller: the library itself reads no files")]

use std::process::ExitCode;

use agentprocess::Document;

fn main() -> ExitCode {
    if std::env::args().len() < 2 {
        eprintln!("usage: inspect PROCESS.md …");
        return ExitCode::from(2);
    }
    let mut good = true;
    for name in std::env::args().skip(1) {
        println!("{name}");
        let mut path = std::path::PathBuf::from(&name);
        let mut folder = None;
        if path.is_dir() {
            let whole = path.canonicalize().ok();
            folder = whole.and_then(|whole| Some(whole.file_name()?.to_string_lossy().into_owned()));
            path.push("PROCESS.md");
        }
        match std::fs::read(&path) {
            Ok(file) => good &= inspect(folder.as_deref(), &file),
            Err(error) => {
                println!("  cannot be read: {error}");
                good = false;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn inspect(folder: Option<&str>, file: &[u8]) -> bool {
    let document = match Document::read_in(folder, file) {
        Ok(document) => document,
        Err(issues) => {
            for issue in issues {
                println!("  issue    {issue}");
            }
            return false;
        }
    };
    let process = &document.process;
    let steps: Vec<String> = process.steps.iter().map(|step| format!("{} ({})", step.id, step.kind_word())).collect();
    let lists = [
        ("name", vec![process.name.as_str()]),
        ("hash", vec![document.hash.as_str()]),
        ("steps", steps.iter().map(String::as_str).collect()),
        ("roles", process.roles()),
        ("systems", process.systems.iter().map(String::as_str).collect()),
        ("profiles", process.profiles()),
        ("tools", process.tools_needed()),
    ];
    for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
        println!("  {what:<8} {}", names.join(", "));
    }
    for warning in &document.warnings {
        println!("  warning  {warning}");
    }
    true
}
