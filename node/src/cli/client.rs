//! The administration interface as the command line calls it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use reqwest::Method;
use serde::de::DeserializeOwned;

use super::dev::DATA;
use super::devfile::{self, OPERATOR};
use crate::admin::{ErrorBody, ErrorDetails};
use crate::http::client::client;

/// How long one call may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Which server, and how to tell what it answers.
#[derive(Args)]
pub(super) struct Connection {
    /// Base address of the server's administration (default: that of the `quorate dev` on --data)
    #[arg(long, value_name = "URL", requires = "token_file", global = true)]
    server: Option<String>,
    /// File that holds an operator's token (default: the operator of `quorate dev`)
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// The data folder of `quorate dev`
    #[arg(long, value_name = "DIR", default_value = DATA, global = true)]
    data: PathBuf,
    /// Print the server's answer as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// A server with an operator's token.
pub(super) struct Client {
    base: String,
    token: String,
    json: bool,
    http: reqwest::Client,
}

impl Connection {
    /// The client of this server.
    pub(super) fn open(&self) -> anyhow::Result<Client> {
        let dev = || devfile::read(&self.data);
        let base = match &self.server {
            Some(server) => server.clone(),
            None => dev()?.admin.into_iter().next().context("dev.json names no administration address")?,
        };
        let token = match &self.token_file {
            Some(file) => std::fs::read_to_string(file).with_context(|| format!("token file {}", file.display()))?,
            None => dev()?.tokens.remove(OPERATOR).context("dev.json has no operator")?,
        };
        let base = format!("{}/admin/v1", base.trim_end_matches('/'));
        Ok(Client { base, token: token.trim().to_owned(), json: self.json, http: client(TIMEOUT)? })
    }
}

impl Client {
    /// A call without a body; the answer as text.
    pub(super) async fn get_text(&self, path: &str) -> anyhow::Result<String> {
        self.call(Method::GET, path, None).await
    }

    /// A call without a body.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        read(&self.call(Method::GET, path, None).await?)
    }

    /// A call with a body.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> anyhow::Result<T> {
        read(&self.call(method, path, Some(body.into())).await?)
    }

    /// The text of a good answer. Of a refusal every issue is told on its own line, or as JSON when that is asked for.
    async fn call(&self, method: Method, path: &str, body: Option<reqwest::Body>) -> anyhow::Result<String> {
        let url = format!("{}{path}", self.base);
        let request = self.http.request(method, &url).bearer_auth(&self.token);
        let request = match body {
            Some(body) => request.body(body),
            None => request,
        };
        let response = request.send().await.map_err(reqwest::Error::without_url);
        let response = response.with_context(|| format!("no answer from {url} (is the server running there?)"))?;
        let (status, text) = (response.status(), response.text().await?);
        if status.is_success() {
            return Ok(text);
        }
        let Ok(ErrorBody { error }) = serde_json::from_str::<ErrorBody>(&text) else {
            anyhow::bail!("{url} answered {status}{}", other_words(status, &text));
        };
        if self.json {
            println!("{text}");
            anyhow::bail!("");
        }
        tell(&error)
    }
}

/// What an answer says that is none of the administration interface: one of the door, of a proxy or of another server.
fn other_words(status: reqwest::StatusCode, text: &str) -> String {
    if status == reqwest::StatusCode::NOT_FOUND {
        return ": is this the address of the administration (admin_listen)?".to_owned();
    }
    let refusal: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let described = refusal.as_ref().and_then(|refusal| refusal["error_description"].as_str());
    format!(": {}", described.unwrap_or(text.trim()))
}

fn tell(error: &ErrorDetails) -> anyhow::Result<String> {
    for issue in &error.issues {
        eprintln!("{issue}");
    }
    anyhow::bail!("{}: {}", error.code, error.message)
}

fn read<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text).context("the server answered in a form this command does not know")
}
