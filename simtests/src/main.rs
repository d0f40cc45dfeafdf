//! Runs the simulation by seed: `simulate --first 1 --seeds 10 [--limit SECONDS] [--trace FILE] [--late-flush]`.
//!
//! One process can run many seeds. Equal traces are promised for the first seed of a fresh process.

#[cfg(madsim)]
mod client;
#[cfg(madsim)]
mod cluster;
#[cfg(madsim)]
mod commands;
#[cfg(madsim)]
mod engine;
#[cfg(madsim)]
mod link;
#[cfg(madsim)]
mod scenario;
#[cfg(madsim)]
mod trace;

#[cfg(not(madsim))]
fn main() -> std::process::ExitCode {
    eprintln!("simulate: build it with simtests/run, which sets --cfg madsim");
    std::process::ExitCode::from(2)
}

#[cfg(madsim)]
fn main() -> std::process::ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("simulate: {why}");
            return std::process::ExitCode::from(2);
        }
    };
    // The simulation replaces the clocks of its own threads only.
    let (limit, began) = (options.limit, std::time::Instant::now());
    let mut total = scenario::Report::default();
    let mut seeds = 0;
    for seed in options.first..options.first.saturating_add(options.seeds) {
        if began.elapsed() >= limit {
            break;
        }
        let (report, trace) = scenario::run(seed, options.late_flush);
        if let Some(file) = &options.trace
            && let Err(e) = std::fs::write(file, trace)
        {
            eprintln!("simulate: {file}: {e}");
            return std::process::ExitCode::from(2);
        }
        for violation in &report.violations {
            eprintln!("seed {seed}: {violation}");
        }
        seeds += 1;
        total.add(report);
    }
    println!("{}", total.json(seeds));
    std::process::ExitCode::from(u8::from(!total.violations.is_empty()))
}

#[cfg(madsim)]
struct Options {
    first: u64,
    seeds: u64,
    limit: std::time::Duration,
    trace: Option<String>,
    late_flush: bool,
}

#[cfg(madsim)]
impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let limit = std::time::Duration::from_hours(1);
        let mut options = Self { first: 1, seeds: 1, limit, trace: None, late_flush: false };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|e| format!("{argument} {text}: {e}"));
            match argument.as_str() {
                "--first" => options.first = number(value()?)?,
                "--seeds" => options.seeds = number(value()?)?,
                "--limit" => options.limit = std::time::Duration::from_secs(number(value()?)?),
                "--trace" => options.trace = Some(value()?),
                "--late-flush" => options.late_flush = true,
                other => return Err(format!("{other} is no option")),
            }
        }
        Ok(options)
    }
}
