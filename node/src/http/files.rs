//! `GET /files/{id}?…`: a file by its signed address, which is the only authority needed (FILE-URL).

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::tools::{FileBody, FileError, Tools};

/// Serves a file, always as an attachment: a document someone uploaded must never run as a page of this server.
pub async fn get<T: Tools>(State(tools): State<Arc<T>>, Path(id): Path<String>, RawQuery(query): RawQuery) -> Response {
    match tools.file(&id, query.as_deref().unwrap_or_default()).await {
        Ok(file) => serve(file),
        Err(why) => refuse(&why),
    }
}

fn serve(file: FileBody) -> Response {
    let mut headers = HeaderMap::new();
    let content_type = HeaderValue::from_str(&file.content_type).ok().filter(|_| is_media_type(&file.content_type));
    let fallback = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, content_type.unwrap_or(fallback));
    if let Ok(disposition) = HeaderValue::from_str(&disposition(&file.file_name)) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    (headers, file.bytes).into_response()
}

/// An address that is not signed and a file that is not there look the same.
fn refuse(why: &FileError) -> Response {
    let (status, text) = match why {
        FileError::NotSigned | FileError::Missing => (StatusCode::NOT_FOUND, "no such file\n"),
        FileError::Expired => (StatusCode::FORBIDDEN, "this address has expired; read the run again for a new one\n"),
        FileError::Damaged => {
            tracing::error!("a stored file no longer matches its recorded hash");
            (StatusCode::INTERNAL_SERVER_ERROR, "the stored bytes no longer match the recorded hash\n")
        }
        FileError::Unavailable(why) => {
            tracing::warn!(why, "a file could not be read");
            (StatusCode::SERVICE_UNAVAILABLE, "the file cannot be read now; try again\n")
        }
    };
    (status, text).into_response()
}

/// `type/subtype` of token characters, with or without parameters.
fn is_media_type(text: &str) -> bool {
    let token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// An attachment with this name: a plain ASCII form for old clients and the exact one beside it (RFC 6266, RFC 8187).
fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c == ' ' || (c.is_ascii_graphic() && !"\"\\/%".contains(c)) { c } else { '_' })
        .collect();
    let mut exact = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            exact.push(char::from(byte));
        } else {
            let _ = write!(exact, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_header() {
        for (name, header) in [
            ("report.pdf", r#"attachment; filename="report.pdf"; filename*=UTF-8''report.pdf"#),
            (
                "a\"; x=\"b\r\nSet-Cookie: c",
                r#"attachment; filename="a_; x=_b__Set-Cookie: c"; filename*=UTF-8''a%22%3B%20x%3D%22b%0D%0ASet-Cookie%3A%20c"#,
            ),
            ("../../etc/passwd", r#"attachment; filename=".._.._etc_passwd"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd"#),
            ("Prüfung €.txt", r#"attachment; filename="Pr_fung _.txt"; filename*=UTF-8''Pr%C3%BCfung%20%E2%82%AC.txt"#),
        ] {
            assert_eq!(disposition(name), header);
        }
    }

    #[test]
    fn only_media_types_are_passed_on() {
        for (text, is) in
            [("text/plain", true), ("text/plain; charset=utf-8", true), ("text", false), ("a/b/c", false), ("", false)]
        {
            assert_eq!(is_media_type(text), is, "{text}");
        }
    }
}
