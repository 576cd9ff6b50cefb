//! The `stallscope` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    stallscope::cli::run().into()
}
