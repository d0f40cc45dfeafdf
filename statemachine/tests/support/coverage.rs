//! How often random calls reach what the properties are about, so that a change of the generator cannot empty them.

use std::collections::BTreeMap;

use quorate_statemachine::shard::event::{Event, JournalRow, Record};

use super::guarantees;
use super::ops::Driver;

/// Times by what was reached.
#[derive(Debug, Default)]
pub struct Coverage(BTreeMap<String, usize>);

impl Coverage {
    /// Counts what the runs of a shard went through.
    pub fn add(&mut self, driver: &Driver) {
        for (head, rows, process) in guarantees::read(&driver.world.store).runs {
            if head.test {
                self.one("a test run");
            }
            let mut joined = false;
            for event in rows.iter().flat_map(|row: &JournalRow| &row.events) {
                let kind = |step: &u32| process.steps[*step as usize].kind_word();
                match event {
                    Event::Reached { step, .. } => {
                        joined &= kind(step) != "parallel";
                        self.one(&format!("reached {}", kind(step)));
                    }
                    Event::Passed { step } => {
                        joined |= kind(step) == "parallel";
                        self.one(&format!("passed {}", kind(step)));
                    }
                    Event::Rewound { steps } => {
                        let region = joined && steps.iter().any(|step| process.steps[*step as usize].branch.is_some());
                        self.one(if region { "rework across a joined region" } else { "rework" });
                    }
                    Event::Completed { record, by, .. } => self.one(match record {
                        Record::Work(_) => "work accepted",
                        Record::Approved { .. } => "approved",
                        Record::Rejected { .. } => "rejected",
                        Record::Waited => "a wait ran out",
                        Record::Delivered(_) => "an event was delivered",
                        Record::Failed { .. } if by == "server" => "a value was missing",
                        Record::Failed { .. } => "failed",
                    }),
                    Event::Joined { .. } => self.one("a branch joined"),
                    Event::LeaseEnded { .. } => self.one("a lease ended"),
                    Event::Refused { .. } => self.one("work not accepted"),
                    Event::Escalated { .. } => self.one("escalated"),
                    Event::Returned { .. } => self.one("returned"),
                    Event::EventHeld { .. } => self.one("an event was held"),
                    Event::Overdue { .. } => self.one("overdue"),
                    Event::Ended { outcome: None, .. } => self.one("cancelled"),
                    Event::Renewed { .. } => self.one("renewed"),
                    Event::Started(_) | Event::ItemOpened { .. } | Event::Claimed { .. } | Event::Ended { .. } => {}
                }
            }
        }
        let notified = driver.world.store.rows().filter(|(key, _)| key.first() == Some(&0x80)).count();
        *self.0.entry("a notification".to_owned()).or_default() += notified;
    }

    /// Everything that has to be reached often, and how often at least: about a third of what the generator gives.
    pub fn demand(&self) {
        let often = [
            ("a branch joined", 40),
            ("a lease ended", 20),
            ("a notification", 2),
            ("a test run", 50),
            ("a value was missing", 30),
            ("a wait ran out", 30),
            ("an event was delivered", 40),
            ("an event was held", 40),
            ("approved", 70),
            ("cancelled", 2),
            ("escalated", 6),
            ("failed", 10),
            ("overdue", 2),
            ("passed finish", 20),
            ("passed parallel", 10),
            ("reached agent", 150),
            ("reached approve", 100),
            ("reached parallel", 25),
            ("reached task", 60),
            ("reached wait", 15),
            ("reached wait_for", 50),
            ("reached wait_until", 15),
            ("rejected", 30),
            ("renewed", 10),
            ("returned", 2),
            ("rework", 30),
            ("rework across a joined region", 4),
            ("work accepted", 150),
            ("work not accepted", 60),
        ];
        let short = |(what, times): &&(&str, usize)| self.0.get(*what).is_none_or(|found| found < times);
        let short: Vec<_> = often.iter().filter(short).collect();
        assert!(short.is_empty(), "reached too seldom: {short:?}\nof {self:#?}");
    }

    fn one(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }
}
