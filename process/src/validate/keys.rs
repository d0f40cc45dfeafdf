//! The keys of a step and what each kind allows (§2.2, KEY-APPLIES).

/// A kind key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Agent,
    Task,
    Approve,
    Wait,
    WaitUntil,
    WaitFor,
    Finish,
    Parallel,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Agent,
        Self::Task,
        Self::Approve,
        Self::Wait,
        Self::WaitUntil,
        Self::WaitFor,
        Self::Finish,
        Self::Parallel,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Task => "task",
            Self::Approve => "approve",
            Self::Wait => "wait",
            Self::WaitUntil => "wait_until",
            Self::WaitFor => "wait_for",
            Self::Finish => "finish",
            Self::Parallel => "parallel",
        }
    }

    pub(super) fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == key)
    }

    pub(super) fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }

    /// The keys of a step of this kind; of any kind, where it is not known.
    pub(super) fn keys(kind: Option<Self>) -> Vec<&'static str> {
        let kinds = Self::ALL.into_iter().filter(|each| kind.is_none_or(|kind| kind == *each)).map(Self::word);
        let optional = Optional::ALL.into_iter().filter(|(_, key)| kind.is_none_or(|kind| kind.allows(*key)));
        std::iter::once("id").chain(kinds).chain(optional.map(|(word, _)| word)).collect()
    }

    /// Whether an agent or a person submits output here.
    pub(super) fn is_work(self) -> bool {
        matches!(self, Self::Agent | Self::Task)
    }

    pub(super) fn needs_person(self) -> bool {
        matches!(self, Self::Task | Self::Approve)
    }

    pub(super) fn allows(self, key: Optional) -> bool {
        match key {
            Optional::Next => self != Self::Finish,
            Optional::Output | Optional::Evidence | Optional::Check | Optional::Advisory => self.is_work(),
            Optional::Person => self.needs_person(),
            Optional::Due => self.is_work() || self == Self::Approve,
            Optional::OnReject => self == Self::Approve,
            Optional::Timeout | Optional::OnTimeout => self == Self::WaitFor,
        }
    }
}

/// An optional key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Optional {
    Output,
    Evidence,
    Next,
    Person,
    OnReject,
    Due,
    Timeout,
    OnTimeout,
    Check,
    Advisory,
}

impl Optional {
    const ALL: [(&'static str, Self); 10] = [
        ("output", Self::Output),
        ("evidence", Self::Evidence),
        ("next", Self::Next),
        ("person", Self::Person),
        ("on_reject", Self::OnReject),
        ("due", Self::Due),
        ("timeout", Self::Timeout),
        ("on_timeout", Self::OnTimeout),
        ("check", Self::Check),
        ("advisory", Self::Advisory),
    ];

    pub(super) fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(word, _)| *word == key).map(|(_, key)| key)
    }
}
