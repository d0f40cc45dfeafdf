//! What the binary does from the command line for a test: tokens, settings, publishing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;

/// The binary, and the folder of its development issuer.
#[derive(Clone)]
pub struct Tools {
    /// The quorate binary.
    pub binary: PathBuf,
    /// Where the issuer's key is, and where files may be put.
    pub data: PathBuf,
}

impl Tools {
    /// A token for one more agent.
    pub fn agent_token(&self, id: &str) -> Result<String, Error> {
        self.token(&["--agent", id])
    }

    /// A token for an operator.
    pub fn operator_token(&self) -> Result<String, Error> {
        self.token(&["--human", "ops@example.com", "--operator"])
    }

    /// A token for a person who is in a group.
    pub fn person_token(&self, name: &str, group: &str) -> Result<String, Error> {
        self.token(&["--human", name, "--groups", group])
    }

    /// The settings of a server that takes these tokens.
    pub fn auth(&self) -> Result<Value, Error> {
        Ok(serde_json::from_str(&self.token(&["--auth"])?)?)
    }

    /// Imports a process file and publishes it for a group of each role, at a server's administration.
    pub fn publish(&self, admin: &str, token: &str, file: &Path, words: &[&str]) -> Result<(), Error> {
        let token_file = self.data.join("ops.token");
        std::fs::write(&token_file, token)?;
        let file = file.to_string_lossy();
        for words in [&["process", "import", &*file], &[&["process", "publish"], words].concat()[..]] {
            let to = ["--server".as_ref(), admin.as_ref(), "--token-file".as_ref(), token_file.as_os_str()];
            self.run(words.iter().map(AsRef::as_ref).chain(to))?;
        }
        Ok(())
    }

    fn token(&self, who: &[&str]) -> Result<String, Error> {
        let to = ["token".as_ref(), "--data".as_ref(), self.data.as_os_str()];
        self.run(to.into_iter().chain(who.iter().map(AsRef::as_ref)))
    }

    fn run<'a>(&self, words: impl Iterator<Item = &'a OsStr>) -> Result<String, Error> {
        let words: Vec<_> = words.collect();
        let done = Command::new(&self.binary).args(&words).output()?;
        if !done.status.success() {
            let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            return Err(format!("{words:?}: {out}{err}").into());
        }
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    }
}

/// Runs another program to its good end.
pub fn tool(program: &str, words: &[&str]) -> Result<(), Error> {
    let done = Command::new(program).args(words).output().map_err(|e| format!("{program}: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()).into())
}
