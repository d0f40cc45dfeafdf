//! Claim tokens: a MAC over organization, run, step, claim number, holder and key number, so that a replay gives the
//! same token and none is kept in state (design §3).

use quorate_proto::shard::{Action, Token, Write};
use quorate_proto::{Caller, CallerKind, Claim, GroupId, Refusal};

use super::envelope::invalid;
use super::keys::{Key, Use};
use super::{Api, route, seal};
use crate::groups::Groups;

/// The token of a claim.
pub(crate) fn make(key: &Key, org: &str, claim: &Claim) -> String {
    let says = Token { run: claim.run, step: claim.step, number: claim.number, holder: claim.holder.clone() };
    seal::seal(key, Use::Token, org.as_bytes(), &says)
}

/// What a token says, if `key` made it for `org`.
fn open(key: &Key, org: &str, sealed: &seal::Sealed) -> Option<Token> {
    sealed.open(key, Use::Token, org.as_bytes())
}

/// A text that is no token of this organization names no run: `invalid`, never `stale` (TOKEN-FORM, TOKEN-ENDED).
fn not_recognised() -> Refusal {
    invalid(vec!["token: not recognised; use the token that claim or renew returned, unchanged".to_owned()])
}

/// Logs a token that another than its holder presents (TOKEN-OTHER). That nothing changes is the state's to see to.
pub(crate) fn log_other_holder(write: &Write) {
    let token = match &write.action {
        Action::Renew { token, .. } | Action::Submit { token, .. } | Action::Escalate { token, .. } => token,
        Action::StartRun { .. }
        | Action::Claim { .. }
        | Action::Decide(_)
        | Action::Cancel { .. }
        | Action::SendEvent { .. }
        | Action::Upload { .. } => return,
    };
    let Caller { org, kind, id, .. } = &write.caller;
    if *kind != CallerKind::Agent || *id != token.holder {
        let Token { run, step, holder, .. } = token;
        let request = &write.request;
        tracing::warn!(org, caller = id, ?kind, holder, %run, step, request, "a caller presented another's token");
    }
}

impl<G: Groups> Api<G> {
    /// What the caller's token says, and the group of its run. Whether it is current is the state's to judge.
    pub(crate) async fn verify_token(&self, caller: &Caller, text: &str) -> Result<(GroupId, Token), Refusal> {
        let sealed = seal::split(text).ok_or_else(not_recognised)?;
        let key = self.key(sealed.key).await?.ok_or_else(not_recognised)?;
        let token = open(&key, &caller.org, &sealed).ok_or_else(not_recognised)?;
        let group = route::run(token.run, self.groups.shards()).ok_or_else(not_recognised)?;
        Ok((group, token))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use agentprocess::time::Timestamp;
    use quorate_proto::{RunId, Unique};

    use super::*;

    fn claim() -> Claim {
        let run = RunId(Unique { shard: 3, random: [7; 10] });
        Claim { run, step: 1, number: 9, holder: "a1".to_owned(), key: 1, expires: Timestamp(5) }
    }

    fn opens(text: &str, key: &Key, org: &str) -> Option<Token> {
        seal::split(text).filter(|s| s.key == key.id).and_then(|s| open(key, org, &s))
    }

    #[test]
    fn a_token_says_what_it_was_made_of_and_a_replay_is_the_same() {
        let key = Key::new(1, [1; 32]);
        let text = make(&key, "demo", &claim());
        let said = opens(&text, &key, "demo").unwrap();
        assert_eq!((said.run, said.step, said.number, said.holder), (claim().run, 1, 9, "a1".to_owned()));
        assert_eq!(text, make(&key, "demo", &Claim { expires: Timestamp(99), ..claim() }));
    }

    /// R/L-05
    #[test]
    fn no_other_text_is_a_token() {
        let key = Key::new(1, [1; 32]);
        let text = make(&key, "demo", &claim());
        let mut forged = vec![String::new(), "random".to_owned(), "v1..".to_owned(), "v1.AAAA.AAAA".to_owned()];
        forged.extend((0..text.len()).map(|n| text[..n].to_owned()));
        forged.extend([format!("{text}A"), format!("{text}="), format!(" {text}"), text.replace("v1.", "v2.")]);
        for (n, old) in text.char_indices() {
            for new in ['A', 'B', '_', '9', '.', '+'] {
                if new != old {
                    forged.push(format!("{}{new}{}", &text[..n], &text[n + 1..]));
                }
            }
        }
        // An edited payload under the old MAC.
        let other = make(&key, "demo", &Claim { holder: "a2".to_owned(), ..claim() });
        let (payload, mac) = (other.rsplit_once('.').unwrap().0, text.rsplit_once('.').unwrap().1);
        forged.push(format!("{payload}.{mac}"));
        for text in forged {
            assert_eq!(opens(&text, &key, "demo").map(|_| ()), None, "{text}");
        }
    }

    #[test]
    fn another_organization_key_or_use_does_not_open_it() {
        let key = Key::new(1, [1; 32]);
        let text = make(&key, "demo", &claim());
        assert!(opens(&text, &key, "other").is_none());
        assert!(opens(&text, &Key::new(1, [2; 32]), "demo").is_none());
        assert!(opens(&text, &Key::new(2, [1; 32]), "demo").is_none());
        let cursor = seal::seal(&key, Use::Cursor, b"demo", &opens(&text, &key, "demo").unwrap());
        assert!(opens(&cursor, &key, "demo").is_none());
    }
}
