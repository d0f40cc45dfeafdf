//! The server of Agent Process, and its tools for operators.

use std::process::ExitCode;

/// Much of a write is small blocks of memory that one thread takes and another gives back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quorate::cli::main()
}
