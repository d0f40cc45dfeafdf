//! The steps of a file without issues.

use super::draft::{Draft, RawPerson};
use super::keys::Kind;
use super::links::{Links, Out};
use super::paths::Sources;
use super::routes::RawNext;
use crate::issues::Issues;
use crate::model::{Assignee, Branch, FieldType, Next, Route, Step, StepKind, Target, Work};

/// `None` only when something has its issue; issues of paths into run data are found here.
pub(super) fn steps(
    drafts: &[Draft<'_>],
    links: &Links<'_>,
    branches: &[Option<Branch>],
    sources: &Sources<'_>,
    issues: &mut Issues,
) -> Option<Vec<Step>> {
    let mut built = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let kind = kind(draft, &links.out[at], sources, issues);
        let step = draft.id.zip(kind).map(|(id, kind)| Step { id: id.to_owned(), kind, branch: branches[at] });
        built.push(step);
    }
    built.into_iter().collect()
}

fn kind(draft: &Draft<'_>, out: &Out, sources: &Sources<'_>, issues: &mut Issues) -> Option<StepKind> {
    // Paths first: their issues must not wait for the rest of the step to be right.
    let person = match &draft.person {
        Some(RawPerson::Role(role)) => Some(Assignee::Role((*role).to_owned())),
        Some(RawPerson::Initiator) => Some(Assignee::Initiator),
        Some(RawPerson::Path(raw)) => {
            sources.resolve(*raw, FieldType::Person, &draft.at("person"), issues).map(Assignee::Path)
        }
        None => None,
    };
    let until = draft.until;
    let until = until.and_then(|raw| sources.resolve(raw, FieldType::Datetime, &draft.at("wait_until"), issues));
    let text = || draft.text.map(str::to_owned);
    let next = || out.next.first().map(|link| link.to);
    Some(match draft.kind? {
        Kind::Agent => StepKind::Agent(work(draft, out)?),
        Kind::Task => StepKind::Task { person: person?, work: work(draft, out)? },
        Kind::Approve => {
            let (due, on_reject) = (draft.due, out.on_reject);
            StepKind::Approve { text: text()?, person: person?, due, next: next()?, on_reject }
        }
        Kind::Wait => StepKind::Wait { span: draft.span?, next: next()? },
        Kind::WaitUntil => StepKind::WaitUntil { at: until?, next: next()? },
        Kind::WaitFor => {
            let on_timeout = out.on_timeout.as_ref().map(|link| link.to).or(next())?;
            StepKind::WaitFor { event: text()?, timeout: draft.timeout, next: next()?, on_timeout }
        }
        Kind::Finish => StepKind::Finish { outcome: text()? },
        Kind::Parallel => {
            let step = |to| if let Target::Step(to) = to { Some(to) } else { None };
            let branches = out.entries.iter().map(|link| step(link.to)).collect::<Option<_>>()?;
            StepKind::Parallel { branches, next: next().and_then(step)? }
        }
    })
}

fn work(draft: &Draft<'_>, out: &Out) -> Option<Work> {
    let next = match &draft.next {
        Some(RawNext::Choice(routes)) if routes.len() == out.next.len() => {
            let route = |(raw, link): (&super::routes::RawRoute<'_>, &super::links::Link)| Route {
                to: link.to,
                when: raw.when.map(str::to_owned),
            };
            Next::Choice(routes.iter().zip(&out.next).map(route).collect())
        }
        Some(RawNext::Choice(_) | RawNext::Broken) => return None,
        Some(RawNext::One(_)) | None => Next::One(out.next.first()?.to),
    };
    Some(Work {
        instructions: draft.text?.to_owned(),
        output: draft.output.clone(),
        evidence: draft.evidence.clone(),
        next,
        due: draft.due,
        check: draft.check.clone(),
    })
}
