//! `quorate process`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use agentprocess::FILE_BYTES_MAX;
use anyhow::Context;
use clap::{Args, Subcommand};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;

use super::client::{Client, Connection};
use super::words::{tell, tell_draft, tell_drafts, tell_published, tell_version, tell_versions};
use crate::admin::{Draft, DraftPage, MapRequest, ProcessPage, PublishRequest, Published, Version, VersionPage};

/// Import, publish and look at processes, as a human operator.
///
///   quorate process import ./supplier-onboarding
///   quorate process publish supplier-onboarding --role finance-approver=g_finance
///   quorate process show supplier-onboarding
///
/// Exit status 0 when it worked; 1 with every issue on its own line when not.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Process {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: ProcessCommand,
}

#[derive(Subcommand)]
enum ProcessCommand {
    /// Import a PROCESS.md, or the folder that holds it and bears its name, as a draft
    Import {
        /// Folder or file
        #[arg(value_name = "FOLDER|FILE")]
        path: PathBuf,
    },
    /// Publish the draft of a process
    Publish {
        /// The process
        name: String,
        /// Bind a role to a group; roles left out keep the group of the latest version
        #[arg(long = "role", value_name = "ROLE=GROUP", value_parser = binding)]
        roles: Vec<(String, String)>,
        /// The group that decides escalations
        #[arg(long, value_name = "GROUP")]
        escalations: Option<String>,
        /// The draft to publish, by the hash that import told; refused when another was imported since
        ///
        /// Without it, the draft that stands is looked at, told and published.
        #[arg(long, value_name = "HASH", value_parser = hash)]
        hash: Option<String>,
    },
    /// List processes, or drafts
    List {
        /// Drafts instead
        #[arg(long)]
        drafts: bool,
    },
    /// Show a process with its versions
    Show {
        /// The process
        name: String,
        /// The file of one version, exactly as it was imported
        #[arg(long, value_name = "VERSION")]
        source: Option<u32>,
        /// Its draft instead
        #[arg(long, conflicts_with = "source")]
        draft: bool,
    },
    /// Give roles of a published version other groups
    Map {
        /// The process
        name: String,
        /// The version
        #[arg(long, value_name = "N")]
        version: u32,
        /// The new group of a role
        #[arg(long = "role", value_name = "ROLE=GROUP", value_parser = binding, required = true)]
        roles: Vec<(String, String)>,
    },
    /// Take a process out of the list: it cannot be started, its runs go on
    Retire {
        /// The process
        name: String,
    },
    /// Bring a retired process back
    Restore {
        /// The process
        name: String,
    },
}

impl Process {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.connection.open()?;
        let json = self.connection.json;
        match self.command {
            ProcessCommand::Import { path } => import(&client, &path, json).await,
            ProcessCommand::Publish { name, roles, escalations, hash } => {
                let hash = match hash {
                    Some(hash) => hash,
                    None => seen(&client, &name, json).await?,
                };
                let asked = !roles.is_empty();
                let request = PublishRequest { roles: map(roles)?, escalations, hash: Some(hash) };
                let path = format!("/processes/{}/publish", part(&name));
                let published: Published = client.send(Method::POST, &path, serde_json::to_string(&request)?).await?;
                tell(json, &published, |published| tell_published(published, asked))
            }
            ProcessCommand::List { drafts: true } => {
                let page: DraftPage = client.get("/drafts?limit=100").await?;
                tell(json, &page, tell_drafts)
            }
            ProcessCommand::List { drafts: false } => list(&client, json).await,
            ProcessCommand::Show { name, source: Some(version), .. } => {
                let path = format!("/processes/{}/versions/{version}/source", part(&name));
                print!("{}", client.get_text(&path).await?);
                Ok(())
            }
            ProcessCommand::Show { name, draft: true, .. } => {
                let draft: Draft = client.get(&format!("/drafts/{}", part(&name))).await?;
                tell(json, &draft, tell_draft)
            }
            ProcessCommand::Show { name, .. } => {
                let page: VersionPage = client.get(&format!("/processes/{}?limit=100", part(&name))).await?;
                tell(json, &page, tell_versions)
            }
            ProcessCommand::Map { name, version, roles } => {
                let path = format!("/processes/{}/versions/{version}/roles", part(&name));
                let body = serde_json::to_string(&MapRequest { roles: map(roles)? })?;
                let version: Version = client.send(Method::PUT, &path, body).await?;
                tell(json, &version, tell_version)
            }
            ProcessCommand::Retire { name } => stand(&client, &name, "retire", json).await,
            ProcessCommand::Restore { name } => stand(&client, &name, "restore", json).await,
        }
    }
}

async fn import(client: &Client, path: &Path, json: bool) -> anyhow::Result<()> {
    let place = || format!("{}: give a folder with PROCESS.md in it, or such a file", path.display());
    let (file, folder) = if path.is_dir() {
        let whole = path.canonicalize().with_context(place)?;
        let folder = whole.file_name().map(|name| name.to_string_lossy().into_owned());
        for entry in std::fs::read_dir(&whole).with_context(place)? {
            let name = entry?.file_name();
            if name != "PROCESS.md" {
                // PUB-WHO: other files are ignored with a warning.
                eprintln!("warning: {} is ignored", name.to_string_lossy());
            }
        }
        (whole.join("PROCESS.md"), folder)
    } else {
        (path.to_owned(), None)
    };
    // The server tells what is wrong with the bytes; here they only need to arrive, and no more than show that there are too many.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&file).with_context(place)?;
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).with_context(place)?;
    let query = folder.map_or_else(String::new, |folder| format!("?folder={}", part(&folder)));
    let draft: Draft = client.send(Method::POST, &format!("/drafts{query}"), bytes).await?;
    tell(json, &draft, tell_draft)
}

/// The hash of the draft that stands, told so that the operator sees whose file goes.
async fn seen(client: &Client, name: &str, json: bool) -> anyhow::Result<String> {
    let draft: Draft = client.get(&format!("/drafts/{}", part(name))).await?;
    if !json {
        println!("Draft of {name} with content hash {}, imported by {}", draft.hash, draft.imported_by);
    }
    Ok(draft.hash)
}

/// All pages.
async fn list(client: &Client, json: bool) -> anyhow::Result<()> {
    let mut all = ProcessPage { items: Vec::new(), next: None };
    loop {
        let after = all.next.as_deref().map_or_else(String::new, |after| format!("&after={}", part(after)));
        let page: ProcessPage = client.get(&format!("/processes?limit=100{after}")).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            break;
        }
    }
    tell(json, &all, |all| {
        if all.items.is_empty() {
            println!("no process is published");
        }
        for item in &all.items {
            println!("{} {}{}", item.process, item.latest_version, if item.retired { " retired" } else { "" });
        }
    })
}

async fn stand(client: &Client, name: &str, verb: &str, json: bool) -> anyhow::Result<()> {
    let page: VersionPage =
        client.send(Method::POST, &format!("/processes/{}/{verb}", part(name)), String::new()).await?;
    tell(json, &page, |page| println!("{} is {}", page.process, if page.retired { "retired" } else { "in use" }))
}

fn binding(text: &str) -> Result<(String, String), String> {
    let (role, group) = text.split_once('=').ok_or("write ROLE=GROUP")?;
    Ok((role.to_owned(), group.to_owned()))
}

fn map(roles: Vec<(String, String)>) -> anyhow::Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for (role, group) in roles {
        if let Some(first) = map.insert(role.clone(), group.clone()) {
            anyhow::bail!("--role {role} is given twice, with {first} and {group}");
        }
    }
    Ok(map)
}

/// A content hash as `import` tells it.
fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if is_hash { Ok(text.to_owned()) } else { Err("write the 64 hex digits that import told".to_owned()) }
}

fn part(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
