//! Any bytes are a document, or issues that each name a place.
#![no_main]

use agentprocess::Document;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match Document::read(bytes) {
    Ok(document) => {
        assert_eq!(document.hash.len(), 64);
        assert!(!document.process.steps.is_empty());
        assert_eq!(Document::read(bytes).as_ref(), Ok(&document));
    }
    Err(issues) => assert!(!issues.is_empty() && issues.iter().all(|i| !i.path.is_empty() && !i.message.is_empty())),
});
