//! A process of another program that can be killed, stopped and started again at any moment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};

pub use rustix::process::Signal;

use crate::Error;

/// How long a process may take to end when it is asked to.
const END_LIMIT: Duration = Duration::from_mins(1);

/// The same when it is killed because nobody wants it any more.
const DROP_LIMIT: Duration = Duration::from_secs(5);

/// One process, or none while it does not run. It is killed when this is dropped.
pub struct Process {
    words: Vec<OsString>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// A process that has not been started: program and arguments; what it says is appended to `log`.
    pub fn new<I>(words: I, log: impl Into<PathBuf>) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        Self { words: words.into_iter().map(Into::into).collect(), log: log.into(), child: None }
    }

    /// Starts it.
    pub fn start(&mut self) -> Result<(), Error> {
        self.start_by(&[])
    }

    /// Starts it through another program, which becomes it.
    pub fn start_by(&mut self, before: &[String]) -> Result<(), Error> {
        let log = std::fs::File::options().create(true).append(true).open(&self.log)?;
        let mut words = before.iter().map(AsRef::as_ref).chain(self.words.iter().map(OsString::as_os_str));
        let mut command = Command::new(words.next().ok_or("there is no program to start")?);
        command.args(words).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// SIGKILL, and the wait for its end.
    pub async fn kill(&mut self) -> Result<(), Error> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        Ok(())
    }

    /// SIGTERM, and the wait for its end, which must be a good one.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.signal(Signal::TERM)?;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        match tokio::time::timeout(END_LIMIT, child.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(ExitStatus::success) => Ok(()),
            Ok(status) => Err(format!("it ended with {}; see {}", status?, self.log.display()).into()),
            Err(_) => Err(format!("it did not end {END_LIMIT:?} after SIGTERM; see {}", self.log.display()).into()),
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let number = self.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(kill_process(number.ok_or("it does not run")?, signal)?)
    }

    /// Fails once it has ended by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
            Some(status) => Err(format!("it ended with {status}; see {}", self.log.display()).into()),
            None => Ok(()),
        }
    }

    /// Its process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    /// The processor time that it took so far, in milliseconds, as the kernel tells.
    pub fn cpu_ms(&self) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id()?)).ok()?;
        // After the name, which may hold anything, stands the third field; the 14th and 15th are ticks.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        Some((ticks()? + ticks()?) * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// Its memory in KiB, as the kernel tells.
    pub fn memory_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()?)).ok()?;
        status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.trim().split(' ').next()?.parse().ok()
    }

    /// Where what it says goes.
    pub fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let (began, killed) = (Instant::now(), child.start_kill());
        // Not for ever: it may hang in the kernel, and what comes after this must be cleared away, too.
        while killed.is_ok() && matches!(child.try_wait(), Ok(None)) && began.elapsed() < DROP_LIMIT {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
