//! From the bytes of a file to a document, or every issue at once.

mod split;

use sha2::{Digest, Sha256};

use crate::issues::{Issues, only};
use crate::json::{Value, canonical};
use crate::model::{Document, Issue};
use crate::{validate, yaml};

/// Largest file (JSON-LIMITS).
pub const FILE_BYTES_MAX: usize = 1 << 20;

impl Document {
    /// Reads a `PROCESS.md`.
    ///
    /// A file that cannot be split or is not YAML gives that one issue; any other gives all its issues together.
    /// Whether a server offers what the document needs is another question: [`Document::not_offered`].
    pub fn read(file: &[u8]) -> Result<Self, Vec<Issue>> {
        Self::read_in(None, file)
    }

    /// The same for a file in a folder: the process must be named like `folder` (§2.1).
    pub fn read_in(folder: Option<&str>, file: &[u8]) -> Result<Self, Vec<Issue>> {
        if file.len() > FILE_BYTES_MAX {
            return Err(only("file", format!("larger than {FILE_BYTES_MAX} bytes")).into_vec());
        }
        let parts = split::split(file).map_err(|issue| vec![issue])?;
        let (frontmatter, mut issues) = yaml::load(&parts.frontmatter, parts.first_line).map_err(Issues::into_vec)?;
        let (process, found, warnings) = validate::process(&frontmatter);
        issues.add_consequences(found);
        if let Some(folder) = folder {
            named(folder, &frontmatter, &mut issues);
        }
        match process {
            Some(process) if issues.is_empty() => {
                let hash = hash(&frontmatter, parts.body);
                Ok(Self { process, body: parts.body.to_owned(), hash, warnings: warnings.into_vec() })
            }
            Some(_) | None => Err(issues.into_vec()),
        }
    }
}

fn named(folder: &str, frontmatter: &Value, issues: &mut Issues) {
    let name = frontmatter.as_object().and_then(|root| root.get("name")).and_then(Value::as_str);
    if let Some(name) = name.filter(|name| *name != folder) {
        issues.add("name", format!("folder is named {folder}; rename it or the process {name}"));
    }
}

/// The content hash: SHA-256 over the canonical frontmatter as written, one newline, the body (§6.5, HASH-INPUT).
fn hash(frontmatter: &Value, body: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(canonical(frontmatter));
    hasher.update("\n");
    hasher.update(body);
    hasher.finalize().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
