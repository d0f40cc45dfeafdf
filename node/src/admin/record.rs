//! The record of what operators did.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use quorate_proto::Code;
use quorate_statemachine::catalog::read::{self, RecordRow};
use quorate_statemachine::catalog::rows::Done;

use super::Office;
use super::error::Fault;
use super::extract::{Operator, Params};
use super::model::{ErrorBody, PageQuery, RecordItem, RecordPage};

/// What operators did in this organization, the newest first.
#[utoipa::path(
    get, path = "/admin/v1/record", tag = "record", params(PageQuery),
    responses((status = 200, body = RecordPage), (status = 422, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn list(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    Params(page): Params<PageQuery>,
) -> Result<Json<RecordPage>, Fault> {
    let (org, limit) = (caller.org.clone(), page.limit()?);
    let before = page.after.as_deref().map(str::parse::<u64>).transpose();
    let before = before.map_err(|_| Fault::new(Code::Invalid, "after: write the next of the page before"))?;
    let rows = office.reach.catalog(move |state| read::records(state, &org, before, limit + 1)).await?;
    let next = (rows.len() > limit).then(|| rows[limit - 1].0.to_string());
    Ok(Json(RecordPage { items: rows.into_iter().take(limit).map(|(_, row)| view(row)).collect(), next }))
}

fn view(row: RecordRow) -> RecordItem {
    let (what, version, hash, roles) = match row.done {
        Done::Imported { hash } => ("imported", None, Some(hash), None),
        Done::Published { version, hash, roles } => ("published", Some(version), Some(hash), Some(roles)),
        Done::Mapped { version, roles } => ("mapped", Some(version), None, Some(roles)),
        Done::Retired => ("retired", None, None, None),
        Done::Restored => ("restored", None, None, None),
    };
    let what = what.to_owned();
    RecordItem { at: row.at.to_string(), by: row.by, what, process: row.process, version, hash, roles }
}
