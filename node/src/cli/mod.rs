//! The command line.

mod client;
mod cluster;
mod config;
mod dev;
mod devcluster;
mod devfile;
mod examples;
mod log;
mod process;
mod recover;
mod serve;
mod signal;
mod token;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Serves processes of people and agents: the Agent Process protocol (core-2) over MCP.
///
/// To try it out:
///   quorate dev
///   quorate process list
///
/// For real use, write a settings file and check it first:
///   quorate config check --config quorate.yaml
///   quorate serve --config quorate.yaml
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dev(dev::Dev),
    Serve(serve::Serve),
    Token(token::Token),
    Process(process::Process),
    Cluster(cluster::Cluster),
    Config(config::Config),
}

/// Runs the command line of this process: 0 when it worked, 1 with the reason when it did not, 2 for wrong usage.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Dev(dev) => runtime().and_then(|runtime| runtime.block_on(dev.run())),
        Command::Serve(serve) => serve.run(),
        Command::Token(token) => token.run(),
        Command::Process(process) => runtime().and_then(|runtime| runtime.block_on(process.run())),
        Command::Cluster(cluster) => runtime().and_then(|runtime| runtime.block_on(cluster.run())),
        Command::Config(config) => config.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            let text = format!("{fault:#}");
            // What was told already, line by line, has no words left.
            if !text.is_empty() {
                eprintln!("quorate: {text}");
            }
            ExitCode::FAILURE
        }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
