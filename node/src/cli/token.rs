//! `quorate token`.

use std::path::PathBuf;
use std::time::Duration;

use agentprocess::time::Span;
use clap::Args;

use super::dev::{DATA, ORGANIZATION};
use crate::auth::dev::{DevIdentity, DevIssuer, DevToken};

/// Print another token of the built-in issuer of `quorate dev`.
///
///   quorate token --agent screener
///   quorate token --human ada@example.com --groups finance,board
///   quorate token --human ops@example.com --operator --org other --ttl 30m
///   quorate token --auth > auth.yaml
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Token {
    /// The data folder of `quorate dev`
    #[arg(long, value_name = "DIR", default_value = DATA)]
    data: PathBuf,
    #[command(flatten)]
    who: Who,
    /// Groups, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    groups: Vec<String>,
    /// Make the human an operator
    #[arg(long, conflicts_with = "agent")]
    operator: bool,
    /// The organization
    #[arg(long, value_name = "NAME", default_value = ORGANIZATION)]
    org: String,
    /// How long it is valid: digits and m, h or d
    #[arg(long, value_name = "SPAN", default_value = "12h", value_parser = span)]
    ttl: Duration,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Who {
    /// For an agent with this id
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// For a human with this e-mail address
    #[arg(long, value_name = "EMAIL", value_parser = email)]
    human: Option<String>,
    /// Not a token, but the settings (auth) of a server that takes these tokens: for trials of quorate serve
    #[arg(long)]
    auth: bool,
}

impl Token {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if self.who.auth {
            std::fs::create_dir_all(&self.data)?;
            let auth = serde_json::json!({ "auth": DevIssuer::open(&self.data)?.config() });
            println!("{}", serde_json::to_string_pretty(&auth)?);
            return Ok(());
        }
        let who = match (self.who.agent, self.who.human) {
            (Some(id), _) => DevIdentity::Agent(id),
            (None, Some(email)) => DevIdentity::Human(email),
            (None, None) => anyhow::bail!("give --agent, --human or --auth"),
        };
        let token =
            DevToken { who, organization: self.org, groups: self.groups, operator: self.operator, ttl: self.ttl };
        let Some(issuer) = DevIssuer::find(&self.data)? else {
            anyhow::bail!("{} has no issuer: is quorate dev running there? Give its --data", self.data.display());
        };
        println!("{}", issuer.token(&token)?);
        Ok(())
    }
}

fn email(text: &str) -> Result<String, String> {
    let parts = text.split_once('@').filter(|(name, domain)| !name.is_empty() && !domain.is_empty());
    parts.map(|_| text.to_owned()).ok_or_else(|| "write an e-mail address, such as ada@example.com".to_owned())
}

fn span(text: &str) -> Result<Duration, String> {
    let span = Span::parse(text).filter(|span| span.0 > 0);
    span.map(|span| Duration::from_millis(span.0)).ok_or_else(|| "write digits and m, h or d, such as 12h".to_owned())
}
