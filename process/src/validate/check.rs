//! `check:` and its questions (profile-check §2, CHK-THRESH).

use super::expect::{expected, known_keys, list, mapping, missing, text};
use crate::issues::{Issues, at};
use crate::json::{Number, Object, Value};
use crate::model::{Check, Question, QuestionKind};

pub(super) fn check(value: &Value, advisory: Option<&Value>, path: &str, issues: &mut Issues) -> Option<Check> {
    let what = "text or a list of questions";
    let questions = match value {
        Value::String(_) => {
            let kind = QuestionKind::YesNo { pass: None, fail: None };
            vec![Some(Question { ask: text(value, path, issues)?.to_owned(), kind })]
        }
        Value::Array(questions) if !questions.is_empty() => {
            questions.iter().enumerate().map(|(i, q)| question(q, &format!("{path}[{i}]"), issues)).collect()
        }
        Value::Array(_) => {
            issues.add(path, format!("{what}: at least one question is needed"));
            return None;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return expected(what, value, path, issues);
        }
    };
    let advisory = advisory.and_then(Value::as_bool).unwrap_or(false);
    Some(Check { questions: questions.into_iter().collect::<Option<_>>()?, advisory })
}

fn question(value: &Value, path: &str, issues: &mut Issues) -> Option<Question> {
    let question = mapping(value, path, issues)?;
    let known = ["ask", "pass", "fail", "one_of", "unsure", "levels", "confidence"];
    known_keys(question, path, &known, issues);
    let ask_path = at(path, "ask");
    let ask = question.get("ask").or_else(|| missing(&ask_path, issues)).and_then(|ask| text(ask, &ask_path, issues));
    let kind = match (question.get("one_of"), question.get("levels")) {
        (Some(_), Some(_)) => {
            issues.add(path, "only one of one_of and levels may be there");
            None
        }
        (Some(answers), None) => choice(question, answers, path, issues),
        (None, Some(levels)) => rubric(question, levels, path, issues),
        (None, None) => yes_no(question, path, issues),
    };
    Some(Question { ask: ask?.to_owned(), kind: kind? })
}

/// Refuses keys that belong to another kind of question.
fn foreign(question: &Object, keys: &[&str], kind: &str, path: &str, issues: &mut Issues) {
    for key in keys.iter().filter(|key| question.get(key).is_some()) {
        issues.add(at(path, key), format!("not allowed on a {kind} question"));
    }
}

fn yes_no(question: &Object, path: &str, issues: &mut Issues) -> Option<QuestionKind> {
    foreign(question, &["unsure", "confidence"], "yes/no", path, issues);
    let pass = share(question, "pass", path, issues);
    let fail = share(question, "fail", path, issues);
    let (pass, fail) = (pass.ok()?, fail.ok()?);
    if pass.as_ref().zip(fail.as_ref()).is_some_and(|(pass, fail)| fail > pass) {
        issues.add(at(path, "fail"), "must not be above pass");
        return None;
    }
    Some(QuestionKind::YesNo { pass, fail })
}

/// The value is wrong and has its issue.
struct Told;

/// A number from 0 to 1, if the key is there.
fn share(question: &Object, key: &str, path: &str, issues: &mut Issues) -> Result<Option<Number>, Told> {
    let Some(value) = question.get(key) else { return Ok(None) };
    match value.as_number().filter(|n| **n >= Number::from(0) && **n <= Number::from(1)) {
        Some(number) => Ok(Some(number.clone())),
        None => expected("a number from 0 to 1", value, &at(path, key), issues).ok_or(Told),
    }
}

fn choice(question: &Object, answers: &Value, path: &str, issues: &mut Issues) -> Option<QuestionKind> {
    foreign(question, &["fail"], "choice", path, issues);
    let one_of = answer_names(answers, &at(path, "one_of"), issues);
    let pass_path = at(path, "pass");
    let pass = question.get("pass").or_else(|| missing(&pass_path, issues));
    let pass = pass.and_then(|value| names(value, answers, &pass_path, issues));
    let unsure_path = at(path, "unsure");
    let unsure = question.get("unsure").map(|value| names(value, answers, &unsure_path, issues));
    let confidence = share(question, "confidence", path, issues);
    let (pass, unsure) = (pass?, unsure.unwrap_or(Some(Vec::new()))?);
    if pass.is_empty() {
        issues.add(pass_path, "at least one answer must pass");
    }
    for (i, name) in unsure.iter().enumerate().filter(|(_, name)| pass.contains(name)) {
        issues.add(format!("{unsure_path}[{i}]"), format!("{name} is in pass already"));
    }
    Some(QuestionKind::Choice { one_of: one_of?, pass, unsure, confidence: confidence.ok()? })
}

fn answer_names(answers: &Value, path: &str, issues: &mut Issues) -> Option<Vec<(String, String)>> {
    let Some(answers) = answers.as_object() else {
        return expected("a mapping of answer names to descriptions", answers, path, issues);
    };
    if answers.len() < 2 {
        issues.add(path, "two or more answers are needed");
    }
    let mut read = Vec::new();
    for (name, description) in answers.iter() {
        if name.chars().all(char::is_whitespace) {
            issues.add(path, "an answer's name must not be blank");
        }
        let description = text(description, &at(path, name), issues);
        read.push(description.map(|description| (name.to_owned(), description.to_owned())));
    }
    read.into_iter().collect()
}

/// A list of answer names, each one of the answers.
fn names(value: &Value, answers: &Value, path: &str, issues: &mut Issues) -> Option<Vec<String>> {
    let Some(names) = value.as_array() else { return expected("a list of answer names", value, path, issues) };
    let mut read = Vec::new();
    for (i, value) in names.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let name = text(value, &path, issues);
        if let Some(name) = name.filter(|name| answers.as_object().is_some_and(|a| a.get(name).is_none())) {
            issues.add(path, format!("no answer named {name}"));
        }
        read.push(name.map(str::to_owned));
    }
    read.into_iter().collect()
}

fn rubric(question: &Object, levels: &Value, path: &str, issues: &mut Issues) -> Option<QuestionKind> {
    foreign(question, &["unsure", "fail"], "rubric", path, issues);
    let levels_path = at(path, "levels");
    let levels = list(levels, &levels_path, issues);
    let count = levels.map_or(10, <[Value]>::len);
    if !(2..=10).contains(&count) {
        issues.add(&levels_path, "from 2 to 10 levels are needed");
    }
    let levels = levels.map(|levels| levels.iter().enumerate());
    let level = |(i, value)| text(value, &format!("{levels_path}[{i}]"), issues).map(str::to_owned);
    let levels: Option<Vec<Option<String>>> = levels.map(|levels| levels.map(level).collect());
    let pass_path = at(path, "pass");
    let pass = question.get("pass").or_else(|| missing(&pass_path, issues)).and_then(|value| {
        let level = value.as_u64().and_then(|level| usize::try_from(level).ok()).filter(|level| *level < count);
        level.or_else(|| expected(&format!("a level from 0 to {}", count.max(1) - 1), value, &pass_path, issues))
    });
    let confidence = share(question, "confidence", path, issues);
    let levels = levels?.into_iter().collect::<Option<_>>()?;
    Some(QuestionKind::Rubric { levels, pass: pass?, confidence: confidence.ok()? })
}
