//! The examples, embedded, as `quorate dev` publishes them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentprocess::Document;
use anyhow::{Context, anyhow, bail};
use include_dir::{Dir, include_dir};
use quorate_proto::catalog::{CatalogCommand, ImportDraft};
use quorate_proto::{Code, Command, GroupId, Refusal};
use quorate_statemachine::catalog::read;

use super::devfile::OPERATOR;
use crate::admin::Reach;
use crate::groups::Unavailable;

static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../examples");
/// How long a group may take to find its leader after a start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Publishes each example that the organization has no process of the name of: what a user published stays.
pub(super) async fn publish(reach: &dyn Reach, org: &str) -> anyhow::Result<()> {
    let bindings = EXAMPLES.get_file("bindings.json").context("examples/bindings.json")?.contents();
    let bindings: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_slice(bindings)?;
    let have = published(reach, org).await?;
    for (name, roles) in bindings {
        if have.contains(&name) {
            continue;
        }
        let file = EXAMPLES.get_file(format!("{name}/PROCESS.md")).with_context(|| format!("example {name}"))?;
        let document = Document::read(file.contents()).map_err(|issues| anyhow!("example {name}: {issues:?}"))?;
        let draft = ImportDraft {
            org: org.to_owned(),
            source: String::from_utf8_lossy(file.contents()).into_owned(),
            process: document.process,
            body: document.body,
            hash: document.hash,
            by: OPERATOR.to_owned(),
        };
        change(reach, CatalogCommand::ImportDraft(Box::new(draft))).await?;
        let (org, by) = (org.to_owned(), OPERATOR.to_owned());
        let publish = CatalogCommand::Publish { org, process: name, roles, escalations: None, by, hash: None };
        change(reach, publish).await?;
    }
    Ok(())
}

/// Every process of the organization. Fails only when the catalog does not answer for a long while.
async fn published(reach: &dyn Reach, org: &str) -> anyhow::Result<Vec<String>> {
    let begun = Instant::now();
    loop {
        let org = org.to_owned();
        let heads = reach.catalog(move |state| {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = read::heads(state, &org, after.as_deref(), 100)?;
                let Some((last, _)) = page.last() else { return Ok(all) };
                after = Some(last.clone());
                all.extend(page.into_iter().map(|(name, _)| name));
            }
        });
        match heads.await {
            Ok(names) => return Ok(names),
            Err(fault) if begun.elapsed() > PATIENCE => bail!("the catalog does not answer: {fault:?}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn change(reach: &dyn Reach, command: CatalogCommand) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        match reach.propose(GroupId::Catalog, Command::Catalog(command.clone())).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(Refusal { code: Code::Retry, .. })) | Err(Unavailable(_)) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(Err(refusal)) => bail!("{} {}", refusal.message, refusal.issues.join("; ")),
            Err(unavailable) => bail!("{}", unavailable.0),
        }
    }
}
