//! From the bytes of a file to a document, or every issue at once.

mod split;

use sha2::{Digest, Sha256};

use crate::issues::only;
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
        if file.len() > FILE_BYTES_MAX {
            return Err(only("file", format!("larger than {FILE_BYTES_MAX} bytes")).into_vec());
        }
        let parts = split::split(file).map_err(|issue| vec![issue])?;
        let (frontmatter, mut issues) =
            yaml::load(&parts.frontmatter, parts.first_line).map_err(crate::issues::Issues::into_vec)?;
        let (process, found, warnings) = validate::process(&frontmatter);
        issues.add_consequences(found);
        match process {
            Some(process) if issues.is_empty() => {
                let hash = hash(&frontmatter, parts.body);
                Ok(Self { process, body: parts.body.to_owned(), hash, warnings: warnings.into_vec() })
            }
            Some(_) | None => Err(issues.into_vec()),
        }
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
