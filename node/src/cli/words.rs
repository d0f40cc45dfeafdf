//! Answers of the administration interface in words, one fact a line.

use serde::Serialize;

use crate::admin::{Draft, DraftPage, Published, Version, VersionPage};

/// Prints an answer: as JSON for machines, or in words.
pub(super) fn tell<T: Serialize>(json: bool, answer: &T, words: impl FnOnce(&T)) -> anyhow::Result<()> {
    if json {
        println!("{}", serde_json::to_string(answer)?);
    } else {
        words(answer);
    }
    Ok(())
}

pub(super) fn tell_drafts(page: &DraftPage) {
    if page.items.is_empty() {
        println!("no drafts");
    }
    for draft in &page.items {
        println!("{} {}", draft.process, draft.hash);
    }
}

pub(super) fn tell_draft(draft: &Draft) {
    println!("Draft of {} with content hash {}", draft.process, draft.hash);
    for warning in &draft.warnings {
        println!("warning: {warning}");
    }
    for lack in &draft.not_offered {
        println!("cannot be published here: {lack}");
    }
    for system in &draft.systems {
        println!("needs the system {system}");
    }
    match draft.latest_version {
        Some(version) if draft.identical => println!("identical to version {version}"),
        Some(version) => println!("differs from version {version}"),
        None => println!("not published before"),
    }
    if let Some(difference) = &draft.difference {
        print!("{difference}");
    }
    // What cannot be published, or is already, has no next step.
    if draft.not_offered.is_empty() && !draft.identical {
        let roles = draft.roles.iter().map(|bind| {
            let group = bind.group.as_deref().unwrap_or("GROUP");
            format!(" --role {}={group}", bind.role)
        });
        println!("Next: quorate process publish {} --hash {}{}", draft.process, draft.hash, roles.collect::<String>());
    }
}

/// `roles` is whether roles were to be bound.
pub(super) fn tell_published(published: &Published, roles: bool) {
    let version = &published.version;
    if published.created {
        println!("{} version {} is published", version.process, version.version);
    } else {
        println!(
            "{} version {} has this content already; nothing was created or mapped",
            version.process, version.version
        );
        if roles {
            println!("To map roles: quorate process map {} --version {} --role …", version.process, version.version);
        }
    }
    for warning in &published.warnings {
        println!("warning: {warning}");
    }
    if version.retired {
        println!("warning: {} is retired; bring it back with quorate process restore {0}", version.process);
    }
}

pub(super) fn tell_versions(page: &VersionPage) {
    println!("{}{}", page.process, if page.retired { " (retired)" } else { "" });
    page.items.iter().for_each(tell_version);
}

pub(super) fn tell_version(version: &Version) {
    println!("version {} of {} by {}", version.version, version.published_at, version.published_by);
    println!("  hash {}", version.hash);
    for (role, group) in &version.roles {
        println!("  role {role} = {group}");
    }
    if let Some(group) = &version.escalations {
        println!("  escalations {group}");
    }
    for system in &version.systems {
        println!("  system {system}");
    }
}
