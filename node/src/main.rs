//! The server of Agent Process, and its tools for operators.

use std::process::ExitCode;

fn main() -> ExitCode {
    quorate::cli::main()
}
