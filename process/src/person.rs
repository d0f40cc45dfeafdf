//! Person values in the form `email` (PERSON-VALUE).

/// Whether `text` has the form of a person value: one `@`, a local part, a domain, no white space.
pub fn person_valid(text: &str) -> bool {
    let parts = text.split_once('@');
    let formed = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    formed && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Whether two person values name the same person: equal, ignoring ASCII case.
pub fn same_person(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_and_sameness() {
        for good in ["sam@example.com", "a@b", "Sam+x@EXAMPLE.com", "é@é"] {
            assert!(person_valid(good), "{good}");
        }
        for bad in ["sam", "", "sam@", "@example.com", "a@b@c", "a@b c@d", "a b@c", "a@b\u{2003}", "a@b\n"] {
            assert!(!person_valid(bad), "{bad}");
        }
        assert!(same_person("Sam@Example.com", "sam@example.COM"));
        assert!(!same_person("É@b", "é@b"));
    }
}
