//! `quorate config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config;

/// Look at settings.
#[derive(Args)]
pub(super) struct Config {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Explain every fault of the settings at once, one a line; start nothing
    ///
    /// Reads the file and the environment: `QUORATE_LEASE_S` is `lease_s`, `QUORATE_LOG__FORMAT` is `log.format`.
    Check(File),
}

/// Which settings.
#[derive(Args)]
pub(super) struct File {
    /// The settings file (YAML); without one, the environment alone
    #[arg(long, value_name = "FILE", env = "QUORATE_CONFIG")]
    config: Option<PathBuf>,
}

impl File {
    /// The settings, or every fault on its own line of standard error.
    pub(super) fn read(&self) -> anyhow::Result<config::Config> {
        let read = config::Config::read(self.config.as_deref(), &std::env::vars().collect());
        for warning in &read.warnings {
            eprintln!("warning: {warning}");
        }
        for fault in &read.faults {
            eprintln!("{fault}");
        }
        let faults = read.faults.len();
        read.config
            .ok_or_else(|| anyhow::anyhow!("{faults} fault{} in the settings", if faults == 1 { "" } else { "s" }))
    }
}

impl Config {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self.command {
            ConfigCommand::Check(file) => {
                let config = file.read()?;
                println!(
                    "The settings are good: {} shards in {}, clients at {}",
                    config.shards,
                    config.data_dir.display(),
                    config.public_url
                );
                Ok(())
            }
        }
    }
}
