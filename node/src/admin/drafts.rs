//! Drafts: imported, looked at, not yet published (§7).

use std::sync::Arc;

use agentprocess::{Document, Issue, Offer};
use axum::Json;
use axum::extract::State;
use quorate_proto::Code;
use quorate_proto::catalog::{CatalogCommand, ImportDraft};
use quorate_statemachine::catalog::read::{self, DraftRow, VersionRow};

use super::Office;
use super::error::Fault;
use super::extract::{At, File, Operator, Params};
use super::model::{Draft, DraftPage, ErrorBody, ImportQuery, PageQuery, RoleToBind};

/// Longest difference told, in bytes.
const DIFFERENCE_BYTES_MAX: usize = 64 * 1024;

/// Imports a PROCESS.md as a draft. It takes the place of an earlier draft of the process.
#[utoipa::path(
    post, path = "/admin/v1/drafts", tag = "drafts", params(ImportQuery),
    request_body(content = String, content_type = "text/markdown", description = "The file as written"),
    responses(
        (status = 200, body = Draft),
        (status = 422, body = ErrorBody, description = "Not a valid process; every issue at once"),
        (status = 409, body = ErrorBody, description = "Another was imported in the same moment"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn import(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    Params(query): Params<ImportQuery>,
    File(file): File,
) -> Result<Json<Draft>, Fault> {
    let document = document(&file, query.folder.as_deref())?;
    let (name, hash) = (document.process.name.clone(), document.hash.clone());
    let draft = ImportDraft {
        org: caller.org.clone(),
        // Read as a document, so it is UTF-8.
        source: String::from_utf8_lossy(&file).into_owned(),
        process: document.process,
        body: document.body,
        hash: document.hash,
        by: caller.id.clone(),
    };
    office.reach.change(CatalogCommand::ImportDraft(Box::new(draft))).await?;
    let stands = office.draft(&caller.org, &name).await?;
    if stands.hash != hash {
        // Never another's file in answer to this one.
        let message =
            format!("{} imported another draft of {name} in the same moment. Import again.", stands.imported_by);
        return Err(Fault::new(Code::Conflict, message));
    }
    Ok(Json(stands))
}

/// Drafts by process name.
#[utoipa::path(
    get, path = "/admin/v1/drafts", tag = "drafts", params(PageQuery),
    responses((status = 200, body = DraftPage), (status = 422, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn list(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    Params(page): Params<PageQuery>,
) -> Result<Json<DraftPage>, Fault> {
    let (org, limit) = (caller.org.clone(), page.limit()?);
    let rows = office.reach.catalog(move |state| {
        let mut found = Vec::new();
        for row in read::drafts(state, &org, page.after.as_deref(), limit + 1)? {
            let name = &row.draft.process.name;
            let latest = match read::head(state, &org, name)? {
                Some(head) => read::version(state, &org, name, head.latest)?,
                None => None,
            };
            found.push((row, latest));
        }
        Ok(found)
    });
    let rows = rows.await?;
    let next = (rows.len() > limit).then(|| rows[limit - 1].0.draft.process.name.clone());
    // A list tells no difference: it would be read for none but one of them.
    let items = rows.into_iter().take(limit).map(|(row, latest)| office.report(row, latest.as_ref(), None)).collect();
    Ok(Json(DraftPage { items, next }))
}

/// One draft.
#[utoipa::path(
    get, path = "/admin/v1/drafts/{process}", tag = "drafts", params(("process" = String, Path)),
    responses((status = 200, body = Draft), (status = 404, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn show(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At(process): At<String>,
) -> Result<Json<Draft>, Fault> {
    office.draft(&caller.org, &process).await.map(Json)
}

/// The document in a file, or every issue of it (V-32: its folder's name too).
fn document(file: &[u8], folder: Option<&str>) -> Result<Document, Fault> {
    let read = Document::read_in(folder, file);
    read.map_err(|issues| Fault::with(Code::Invalid, "Not a valid process: mend each issue.", texts(&issues)))
}

pub(super) fn texts(issues: &[Issue]) -> Vec<String> {
    issues.iter().map(ToString::to_string).collect()
}

impl Office {
    /// A draft as its operator sees it.
    pub(super) async fn draft(&self, org: &str, process: &str) -> Result<Draft, Fault> {
        let (org, name) = (org.to_owned(), process.to_owned());
        let found = self.reach.catalog(move |state| {
            let Some(row) = read::draft(state, &org, &name)? else { return Ok(None) };
            let Some(head) = read::head(state, &org, &name)? else { return Ok(Some((row, None, None))) };
            let latest = read::version(state, &org, &name, head.latest)?;
            Ok(Some((row, latest, read::source(state, &org, &name, head.latest)?)))
        });
        let Some((row, latest, source)) = found.await? else {
            return Err(Fault::new(
                Code::NotFound,
                format!("There is no draft of {process}. Import its PROCESS.md first."),
            ));
        };
        Ok(self.report(row, latest.as_ref(), source.as_deref()))
    }

    /// What the file needs and this server lacks.
    pub(super) fn not_offered(&self, source: &str) -> Vec<String> {
        let offer = Offer { profiles: &self.profiles, tools: &self.tools };
        Document::read(source.as_bytes()).map_or_else(|issues| texts(&issues), |d| texts(&d.not_offered(&offer)))
    }

    fn report(&self, row: DraftRow, latest: Option<&VersionRow>, source: Option<&str>) -> Draft {
        let DraftRow { draft, imported_at } = row;
        let process = &draft.process;
        let group = |role: &str| latest.and_then(|version| version.roles.get(role).cloned());
        let roles = process.roles().into_iter().map(|role| RoleToBind { role: role.to_owned(), group: group(role) });
        let warnings = Document::read(draft.source.as_bytes()).map(|d| texts(&d.warnings)).unwrap_or_default();
        Draft {
            process: process.name.clone(),
            description: process.description.clone(),
            roles: roles.collect(),
            systems: process.systems.clone(),
            profiles: process.profiles().into_iter().map(str::to_owned).collect(),
            not_offered: self.not_offered(&draft.source),
            warnings,
            latest_version: latest.map(|version| version.number),
            identical: latest.is_some_and(|version| version.hash == draft.hash),
            difference: source.filter(|source| *source != draft.source).map(|source| difference(source, &draft.source)),
            imported_at: imported_at.to_string(),
            imported_by: draft.by,
            hash: draft.hash,
        }
    }
}

fn difference(old: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    let mut text = diff.unified_diff().context_radius(2).header("published", "draft").to_string();
    if text.len() > DIFFERENCE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(DIFFERENCE_BYTES_MAX));
        text.push_str("\n… (longer than is told here)\n");
    }
    text
}

impl PageQuery {
    /// The page size.
    pub(super) fn limit(&self) -> Result<usize, Fault> {
        match self.limit.unwrap_or(50) {
            limit @ 1..=100 => Ok(limit),
            _ => Err(Fault::new(Code::Invalid, "limit: write a number from 1 to 100")),
        }
    }
}
