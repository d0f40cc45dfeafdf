//! No text but the real one is a token, neither a claim's nor a bearer's.
//!
//! Input: a byte that picks the case, then edits of a real token or a whole text.
#![no_main]

use std::cell::RefCell;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use quorate::auth::Authenticator;
use quorate::auth::dev::{DevIdentity, DevIssuer, DevToken};
use quorate_fuzz::{World, code, edited, texts};

struct Bearer {
    authenticator: Authenticator,
    token: String,
    runtime: tokio::runtime::Runtime,
}

static BEARER: LazyLock<Bearer> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("quorate-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let issuer = DevIssuer::open(&dir).expect("an issuer");
    std::fs::remove_dir_all(&dir).expect("the folder goes");
    let says = DevToken {
        who: DevIdentity::Agent("a1".to_owned()),
        organization: "demo".to_owned(),
        groups: Vec::new(),
        operator: false,
        ttl: std::time::Duration::from_secs(86_400),
    };
    let token = issuer.token(&says).expect("a token");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    Bearer { authenticator: Authenticator::new(&issuer.config()).expect("valid"), token, runtime }
});

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz_target!(|input: &[u8]| {
    let Some((pick, rest)) = input.split_first() else { return };
    let whole = String::from_utf8_lossy(rest).into_owned();
    if pick & 1 == 0 {
        WORLD.with_borrow(|world| {
            let token = if pick & 2 == 0 { edited(&world.token, rest) } else { whole };
            if token != world.token {
                let arguments = texts(&[("token", token.as_str()), ("note", "x"), ("requestId", "e")]);
                assert_eq!(code(&world.call(&world.agent, "escalate", &arguments)).as_deref(), Some("invalid"), "{token}");
            }
        });
    } else {
        let bearer = &*BEARER;
        let token = if pick & 2 == 0 { edited(&bearer.token, rest) } else { whole };
        if token != bearer.token {
            let caller = bearer.runtime.block_on(bearer.authenticator.authenticate(&token));
            assert!(caller.is_err(), "{token} is {caller:?}");
        }
    }
});
