//! Processes and their versions, and retiring them (VERSIONS).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use quorate_proto::catalog::CatalogCommand;
use quorate_proto::{Caller, Code};
use quorate_statemachine::catalog::read::{self, VersionRow};

use super::Office;
use super::error::Fault;
use super::extract::{At, Operator, Params};
use super::model::{ErrorBody, PageQuery, ProcessItem, ProcessPage, Version, VersionPage};

/// Every process ever published, by name; retired ones too.
#[utoipa::path(
    get, path = "/admin/v1/processes", tag = "processes", params(PageQuery),
    responses((status = 200, body = ProcessPage), (status = 422, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn list(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    Params(page): Params<PageQuery>,
) -> Result<Json<ProcessPage>, Fault> {
    let (org, limit) = (caller.org.clone(), page.limit()?);
    let heads = office.reach.catalog(move |state| read::heads(state, &org, page.after.as_deref(), limit + 1)).await?;
    let next = (heads.len() > limit).then(|| heads[limit - 1].0.clone());
    let item = |(process, head): (String, read::HeadRow)| ProcessItem {
        process,
        latest_version: head.latest,
        retired: head.retired,
    };
    Ok(Json(ProcessPage { items: heads.into_iter().take(limit).map(item).collect(), next }))
}

/// One process with its versions, the newest first.
#[utoipa::path(
    get, path = "/admin/v1/processes/{process}", tag = "processes", params(("process" = String, Path), PageQuery),
    responses(
        (status = 200, body = VersionPage),
        (status = 404, body = ErrorBody),
        (status = 422, body = ErrorBody),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn show_process(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At(process): At<String>,
    Params(page): Params<PageQuery>,
) -> Result<Json<VersionPage>, Fault> {
    office.versions(&caller.org, process, &page).await.map(Json)
}

/// One version.
#[utoipa::path(
    get, path = "/admin/v1/processes/{process}/versions/{version}", tag = "processes",
    params(("process" = String, Path), ("version" = u32, Path)),
    responses((status = 200, body = Version), (status = 404, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn show_version(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At((process, version)): At<(String, u32)>,
) -> Result<Json<Version>, Fault> {
    office.version(&caller.org, &process, version).await.map(Json)
}

/// The PROCESS.md of a version, exactly as it was imported.
#[utoipa::path(
    get, path = "/admin/v1/processes/{process}/versions/{version}/source", tag = "processes",
    params(("process" = String, Path), ("version" = u32, Path)),
    responses(
        (status = 200, body = String, content_type = "text/markdown"),
        (status = 404, body = ErrorBody),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn source(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At((process, version)): At<(String, u32)>,
) -> Result<Response, Fault> {
    let (org, name) = (caller.org.clone(), process.clone());
    let source = office.reach.catalog(move |state| read::source(state, &org, &name, version)).await?;
    let source = source.ok_or_else(|| no_version(&process, version))?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], source).into_response())
}

/// Retires a process: it leaves the list and cannot be started; its runs go on.
#[utoipa::path(
    post, path = "/admin/v1/processes/{process}/retire", tag = "processes", params(("process" = String, Path)),
    responses((status = 200, body = VersionPage), (status = 404, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn retire(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At(process): At<String>,
) -> Result<Json<VersionPage>, Fault> {
    office.set_retired(&caller, process, true).await
}

/// Brings a retired process back.
#[utoipa::path(
    post, path = "/admin/v1/processes/{process}/restore", tag = "processes", params(("process" = String, Path)),
    responses((status = 200, body = VersionPage), (status = 404, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn restore(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At(process): At<String>,
) -> Result<Json<VersionPage>, Fault> {
    office.set_retired(&caller, process, false).await
}

fn no_version(process: &str, version: u32) -> Fault {
    Fault::new(Code::NotFound, format!("There is no version {version} of {process}."))
}

impl Office {
    async fn set_retired(&self, caller: &Caller, process: String, retired: bool) -> Result<Json<VersionPage>, Fault> {
        let (org, by) = (caller.org.clone(), caller.id.clone());
        self.reach.change(CatalogCommand::Retire { org, process: process.clone(), retired, by }).await?;
        self.versions(&caller.org, process, &PageQuery { after: None, limit: Some(1) }).await.map(Json)
    }

    /// One version as its operator sees it.
    pub(super) async fn version(&self, org: &str, process: &str, version: u32) -> Result<Version, Fault> {
        let (org, name) = (org.to_owned(), process.to_owned());
        let row = self.reach.catalog(move |state| read::version(state, &org, &name, version)).await?;
        row.map(view).ok_or_else(|| no_version(process, version))
    }

    async fn versions(&self, org: &str, process: String, page: &PageQuery) -> Result<VersionPage, Fault> {
        let limit = page.limit()?;
        let before = page.after.as_deref().map(str::parse::<u32>).transpose();
        let before = before.map_err(|_| Fault::new(Code::Invalid, "after: write the next of the page before"))?;
        let (org, name) = (org.to_owned(), process.clone());
        let found = self.reach.catalog(move |state| {
            let Some(head) = read::head(state, &org, &name)? else { return Ok(None) };
            Ok(Some((head, read::versions(state, &org, &name, before, limit + 1)?)))
        });
        let Some((head, rows)) = found.await? else {
            return Err(Fault::new(Code::NotFound, format!("No published process is named {process}.")));
        };
        let next = (rows.len() > limit).then(|| rows[limit - 1].number.to_string());
        let items = rows.into_iter().take(limit).map(view).collect();
        Ok(VersionPage { process, latest_version: head.latest, retired: head.retired, items, next })
    }
}

fn view(row: VersionRow) -> Version {
    Version {
        process: row.process.name,
        version: row.number,
        description: row.process.description,
        hash: row.hash,
        roles: row.roles,
        escalations: row.escalations,
        systems: row.process.systems,
        published_at: row.published_at.to_string(),
        published_by: row.by,
        retired: row.retired,
    }
}
