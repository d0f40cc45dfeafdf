//! Lists, files, caps and the walls between organizations.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use agentprocess::{FieldType, Target};
use quorate_proto::shard::{Action, ShardCommand};
use quorate_proto::{Caller, Code, FileId, Reply, Unique};
use quorate_statemachine::shard::read::{self, PageSize, RunFilter, RunState};
use quorate_statemachine::shard::{ahead, data};
use quorate_statemachine::store::{Fatal, Memory, Read, Row};
use support::process::{agent, finish, minutes, object, one, process, role, task, wait_for};
use support::{World, at, good, person, refused, submission, text};

fn a1() -> Caller {
    support::agent("a1")
}

fn simple(name: &str) -> agentprocess::Process {
    process(
        name,
        &[("amount", FieldType::Number), ("who", FieldType::String)],
        vec![agent("a", one(1)), finish("done", "ok")],
    )
}

#[test]
fn runs_are_listed_newest_first_by_any_filter_and_page_by_page() {
    // R/V-04, RUNS-MATCH
    let mut w = World::new(&[simple("p"), simple("q")]);
    let inputs = [r#"{"amount":1.0,"who":"x"}"#, r#"{"amount":1,"who":"y"}"#, r#"{"amount":2}"#];
    let mut runs = Vec::new();
    for n in 0..12 {
        w.advance(minutes(u64::from(n % 2 == 0)));
        runs.push(w.start(&a1(), if n % 2 == 0 { "p" } else { "q" }, inputs[n % 3]).unwrap());
    }
    w.work(&a1(), runs[0], "a");
    let list = |w: &World, filter: &RunFilter, limit: usize| {
        let (mut after, mut ids) = (None, Vec::new());
        loop {
            let page = read::runs_page(&w.store, "o", filter, after.as_ref(), limit).unwrap();
            ids.extend(
                page.items
                    .iter()
                    .map(|(_, row)| text(&row.item.clone().into(), "id").parse::<quorate_proto::RunId>().unwrap()),
            );
            after = page.more;
            if after.is_none() {
                return ids;
            }
        }
    };
    let all = list(&w, &RunFilter::default(), 5);
    // Two start in each minute: newest minute first, ties by id.
    let expected: Vec<_> = (0..6).rev().flat_map(|pair| [runs[2 * pair], runs[2 * pair + 1]]).collect();
    assert_eq!(all, expected);
    assert_eq!(all, list(&w, &RunFilter::default(), 100));
    let filter = |process: Option<&str>, state, inputs: Option<&str>| RunFilter {
        process: process.map(str::to_owned),
        state,
        inputs: inputs.map(object),
    };
    for (filter, count) in [
        (filter(Some("p"), None, None), 6),
        (filter(Some("p"), Some(RunState::Active), None), 5),
        (filter(None, Some(RunState::Ended), None), 1),
        (filter(None, None, Some(r#"{"amount":1.00}"#)), 8),
        (filter(None, None, Some(r#"{"amount":1,"who":"y"}"#)), 4),
        (filter(Some("q"), Some(RunState::Active), Some(r#"{"who":"x"}"#)), 2),
        (filter(None, None, Some(r#"{"who":null}"#)), 0),
        (filter(None, None, Some("{}")), 12),
        (filter(Some("nope"), None, None), 0),
    ] {
        for limit in [1, 3, 100] {
            assert_eq!(list(&w, &filter, limit).len(), count, "{filter:?}");
        }
    }
    let first = &read::runs_page(&w.store, "o", &RunFilter::default(), None, 1).unwrap().items[0].1;
    let keys = ["id", "process", "version", "state", "outcome", "startedAt", "updatedAt", "inputs"];
    assert_eq!(support::keys(&first.item), keys);
    assert!(!first.lacks_inputs());
}

#[test]
fn work_is_listed_oldest_first_and_pages_neither_skip_nor_repeat() {
    // R/W-02, R/W-04, R/W-05, R/W-08
    let item = process("i", &[], vec![task("t", role("reviewer"), one(1)), finish("done", "ok")]);
    let mut w = World::new(&[simple("p"), simple("q"), item]);
    let mut started = Vec::new();
    for n in 0..9 {
        w.advance(minutes(1));
        started.push(w.start(&a1(), ["q", "p", "i"][n % 3], "{}").unwrap());
    }
    let definitions = &w.machine.definitions;
    let rita = person("rita", &["g_rev", "g_x"]);
    for (caller, process, expected) in [
        (a1(), None, vec![0, 1, 3, 4, 6, 7]),
        (a1(), Some("p"), vec![1, 4, 7]),
        (a1(), Some("nope"), vec![]),
        (Caller { processes: Some(["q".to_owned()].into()), ..a1() }, None, vec![0, 3, 6]),
        (Caller { processes: Some(["q".to_owned()].into()), ..a1() }, Some("p"), vec![]),
        (rita.clone(), None, vec![2, 5, 8]),
        (rita.clone(), Some("i"), vec![2, 5, 8]),
        (rita.clone(), Some("p"), vec![]),
        (person("sam", &["g_ops"]), None, vec![]),
        (Caller { org: "other".to_owned(), ..a1() }, None, vec![]),
    ] {
        for limit in [1, 2, 100] {
            let (mut after, mut got) = (None, Vec::new());
            loop {
                let size = PageSize { items: limit, bytes: u64::MAX };
                let page =
                    read::work_page(&w.store, definitions, &caller, process, after.as_ref(), size, w.at).unwrap();
                got.extend(page.items.iter().map(|(_, row)| text(&row.item, "runId")));
                after = page.more;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<String> = expected.iter().map(|n: &usize| started[*n].to_string()).collect();
            assert_eq!(got, expected, "{} {process:?}", caller.id);
        }
    }
    let limited = Caller { processes: Some(["q".to_owned()].into()), ..a1() };
    assert_eq!(refused(w.claim(&limited, started[1], "a").map(|_| Reply::Done)).0, Code::Forbidden);
}

#[test]
fn another_organization_sees_nothing() {
    // R/G-01, R/G-03
    let mut w = World::new(&[simple("p")]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    let stranger = Caller { org: "other".to_owned(), ..a1() };
    assert_eq!(read::get_run(&w.store, &w.machine.definitions, "other", run, w.at).unwrap(), None);
    let unknown = w.new_run();
    let claim = |run| Action::Claim { run, step: "a".to_owned(), key: 1 };
    let foreign = w.write(&stranger, claim(run)).unwrap_err();
    assert_eq!((foreign.code, &foreign), (Code::NotFound, &w.write(&stranger, claim(unknown)).unwrap_err()));
    assert_eq!(w.start(&stranger, "p", "{}").unwrap_err().code, Code::NotFound);
    w.write_as(&a1(), "same", claim(run)).unwrap();
    assert_eq!(refused(w.write_as(&stranger, "same", claim(run))).0, Code::NotFound);
    assert!(read::request(&w.store, "other", "same").unwrap().is_none());
    assert!(read::run_place(&w.store, "other", run).unwrap().is_none());
}

#[test]
fn a_file_is_whole_its_own_organizations_and_never_changes() {
    // R/F-01, R/F-04, R/I-01
    let mut w = World::new(&[]);
    let file = FileId(Unique { shard: 0, random: [9; 10] });
    let upload = || Action::Upload {
        file,
        file_name: "report.pdf".to_owned(),
        content_type: "application/pdf".to_owned(),
        sha256: [5; 32],
        bytes: 6,
        chunks: 2,
    };
    let chunk = |index, bytes: &[u8]| ShardCommand::StoreChunk { file, index, bytes: bytes.to_vec() };
    w.apply(chunk(0, b"abc")).unwrap();
    assert_eq!(refused(w.write_as(&a1(), "u", upload())).0, Code::Retry);
    w.apply(chunk(1, b"def")).unwrap();
    let reply = w.write_as(&a1(), "u", upload()).unwrap();
    assert_eq!(reply, Reply::Uploaded { file, sha256: [5; 32], bytes: 6 });
    assert_eq!(w.write_as(&a1(), "u", upload()).unwrap(), reply);
    assert_eq!(refused(w.apply(chunk(0, b"xyz"))).0, Code::Conflict);
    w.apply(chunk(0, b"abc")).unwrap();
    assert_eq!(read::file_chunk(&w.store, file, 1).unwrap().unwrap(), b"def");
    assert_eq!(read::file(&w.store, "o", file).unwrap().unwrap().by, "a1");
    assert_eq!(read::file(&w.store, "other", file).unwrap(), None);
}

#[test]
fn run_data_may_reach_the_cap_exactly() {
    // R/S-14, R/T-12, R/V-07, CAP-MEASURE
    let steps = vec![
        agent("a", one(1)),
        wait_for("w", "go", None, Target::Step(2), Target::Step(2)),
        agent("b", one(3)),
        finish("done", "ok"),
    ];
    let p = process("p", &[("who", FieldType::String)], steps);
    let mut w = World::new(&[p]);
    let inputs = r#"{"who":"me"}"#;
    let measure = |w: &World, run| at(&w.peek(run).unwrap(), "data").to_string().len() as u64;
    w.limits.run_data_bytes_max = format!(r#"{{"inputs":{inputs},"steps":{{}}}}"#).len() as u64;
    let run = w.start(&a1(), "p", inputs).unwrap();
    assert_eq!(measure(&w, run), w.limits.run_data_bytes_max);
    w.limits.run_data_bytes_max -= 1;
    let over = format!("run data: over {} bytes", w.limits.run_data_bytes_max);
    assert_eq!(refused(w.start(&a1(), "p", inputs).map(|_| Reply::Done)), (Code::Invalid, vec![over]));

    // What a completion adds, from a run without a cap.
    w.limits.run_data_bytes_max = 10_000;
    let free = w.start(&a1(), "p", inputs).unwrap();
    w.work(&a1(), free, "a");
    let full = measure(&w, free);
    w.limits.run_data_bytes_max = full - 1;
    let claim = w.claim(&a1(), run, "a").unwrap();
    let (code, issues) = refused(w.submit(&a1(), &claim, good()));
    assert_eq!((code, issues), (Code::NotAccepted, vec![format!("run data: over {} bytes", full - 1)]));
    let both = refused(w.submit(&a1(), &claim, submission("{}", "Done. And more than that.", None))).1;
    assert_eq!(both, ["output.n: missing".to_owned(), format!("run data: over {} bytes", full - 1)]);
    w.limits.run_data_bytes_max = full;
    w.submit(&a1(), &claim, good()).unwrap();
    assert_eq!(measure(&w, run), full);

    // Held events count with their data; holding one over the cap holds nothing.
    w.limits.run_data_bytes_max = full + 7;
    assert_eq!(refused(w.event(&a1(), run, "stray", r#"{"n":10}"#)).0, Code::Invalid);
    w.event(&a1(), run, "stray", r#"{"n":1}"#).unwrap();
    assert_eq!(refused(w.event(&a1(), run, "stray", "{}")).0, Code::Invalid);
    assert_eq!(refused(w.event(&a1(), run, "go", "{}")).0, Code::Invalid);
    assert_eq!(w.state(run, "w"), "waiting");
    w.limits.run_data_bytes_max = 10_000;
    w.event(&a1(), run, "go", "{}").unwrap();
    assert_eq!(w.state(run, "b"), "ready");
}

#[test]
fn numbers_come_back_digit_for_digit_and_make_snapshots_differ() {
    // R/V-07, NUM-EXACT, NUM-COMPARE
    let mut w = World::new(&[simple("p")]);
    let inputs = r#"{"amount":0.30000000000000000001,"who":"9007199254740993"}"#;
    let run = w.start(&a1(), "p", inputs).unwrap();
    assert_eq!(at(at(&w.view(run), "data"), "inputs").to_string(), inputs);
    let snapshot = |text: &str| data::snapshot(&support::process::json(text));
    assert_ne!(snapshot(r#"{"n":9007199254740993}"#), snapshot(r#"{"n":9007199254740992}"#));
    assert_eq!(snapshot(r#"{"n":1.0,"m":2}"#), snapshot(r#"{"m":2e0,"n":1}"#));
}

#[test]
fn inputs_are_judged_all_at_once() {
    // R/V-07
    let mut w = World::new(&[simple("p")]);
    let refusal = w.start(&a1(), "p", r#"{"more":1,"amount":"x","who":null}"#).unwrap_err();
    assert_eq!(refusal.code, Code::Invalid);
    assert_eq!(
        refusal.issues,
        ["inputs.amount: expected number", "inputs.who: expected string", "inputs.more: not declared"]
    );
    let page = read::runs_page(&w.store, "o", &RunFilter::default(), None, 10).unwrap();
    assert!(page.items.is_empty());
}

#[test]
fn a_run_pins_its_version_and_a_new_one_changes_nothing() {
    // R/V-06, ROLE-VERSIONS
    let mut w = World::new(&[process("p", &[], vec![task("t", role("reviewer"), one(1)), finish("done", "ok")])]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    let second = process("p", &[], vec![agent("other", one(1)), finish("done", "better")]);
    w.install(&second, 2).unwrap();
    assert_eq!(w.state(run, "t"), "waiting");
    let newer = w.new_run();
    let start =
        |version| Action::StartRun { run: newer, process: "p".to_owned(), version, inputs: object("{}"), test: false };
    assert_eq!(refused(w.write(&a1(), start(9))).0, Code::NotFound);
    w.write(&a1(), start(2)).unwrap();
    assert_eq!(w.state(newer, "other"), "ready");
    // The content of an installed version never changes.
    let ShardCommand::InstallVersion(mut changed) = (match w.log[0].command.clone() {
        quorate_proto::Command::Shard(command) => command,
        quorate_proto::Command::Catalog(_) | quorate_proto::Command::Check => panic!(),
    }) else {
        panic!()
    };
    changed.roles.insert("reviewer".to_owned(), "g_new".to_owned());
    w.apply(ShardCommand::InstallVersion(changed.clone())).unwrap();
    assert_eq!(text(at(&w.item(run, "t"), "assignedTo"), "group"), "g_rev", "an open item keeps its group");
    let after = w.start(&a1(), "p", "{}").unwrap();
    assert_eq!(text(at(&w.item(after, "t"), "assignedTo"), "group"), "g_new");
    let mut unmapped = changed.clone();
    unmapped.roles.clear();
    assert_eq!(refused(w.apply(ShardCommand::InstallVersion(unmapped))).0, Code::Invalid);
    changed.hash = "another".to_owned();
    assert_eq!(refused(w.apply(ShardCommand::InstallVersion(changed))).0, Code::Conflict);
}

/// ROLE-VERSIONS: who read the catalog before a re-map and installs after it does not bring the old map back.
#[test]
fn an_older_role_map_never_takes_the_place_of_a_newer_one() {
    let mut w = World::new(&[process("p", &[], vec![task("t", role("reviewer"), one(1)), finish("done", "ok")])]);
    let quorate_proto::Command::Shard(ShardCommand::InstallVersion(old)) = w.log[0].command.clone() else { panic!() };
    let map = |mapping, group: &str| {
        let mut install = old.clone();
        install.mapping = mapping;
        install.roles.insert("reviewer".to_owned(), group.to_owned());
        ShardCommand::InstallVersion(install)
    };
    w.apply(map(2, "g_new")).unwrap();
    for late in [ShardCommand::InstallVersion(old.clone()), map(1, "g_mid")] {
        w.apply(late).unwrap();
        let run = w.start(&a1(), "p", "{}").unwrap();
        assert_eq!(text(at(&w.item(run, "t"), "assignedTo"), "group"), "g_new");
    }
    w.apply(map(3, "g_newest")).unwrap();
    let run = w.start(&a1(), "p", "{}").unwrap();
    assert_eq!(text(at(&w.item(run, "t"), "assignedTo"), "group"), "g_newest");
}

/// Files that differ in the order of keys alone have one hash; each version still shows its own file.
#[test]
fn a_version_shows_its_own_order_of_fields() {
    let fields = [("d", FieldType::Number), ("c", FieldType::Number)];
    let step = support::process::with_output(agent("a", one(1)), &fields);
    let mut w = World::new(&[process("p", &[], vec![step, finish("done", "ok")])]);
    let quorate_proto::Command::Shard(ShardCommand::InstallVersion(first)) = w.log[0].command.clone() else { panic!() };
    let other = |org: &str, version| {
        let mut other = first.clone();
        (other.org, other.version) = (org.to_owned(), version);
        let agentprocess::StepKind::Agent(work) = &mut other.process.steps[0].kind else { panic!() };
        work.output = support::process::fields(&[fields[1], fields[0]], false);
        ShardCommand::InstallVersion(other)
    };
    w.apply(other("o", 2)).unwrap();
    w.apply(other("other", 1)).unwrap();
    for (org, version, order) in [("o", 1, ["d", "c"]), ("o", 2, ["c", "d"]), ("other", 1, ["c", "d"])] {
        let caller = Caller { org: org.to_owned(), ..a1() };
        let run = w.new_run();
        let inputs = object("{}");
        w.write(&caller, Action::StartRun { run, process: "p".to_owned(), version, inputs, test: false }).unwrap();
        let claimed = w.write(&caller, Action::Claim { run, step: "a".to_owned(), key: 1 }).unwrap();
        let Reply::Claimed { seen, claim } = claimed else { panic!("{claimed:?}") };
        let view = read::claim_view(&w.store, &w.machine.definitions, &seen, &claim).unwrap();
        let output = at(at(&view, "step"), "output").as_object().unwrap();
        assert_eq!(support::keys(output), order, "{org} {version}");
    }
}

/// Notes which rows are read.
struct Noted<'a> {
    store: &'a Memory,
    gets: RefCell<Vec<Vec<u8>>>,
    scanned: RefCell<Vec<Vec<u8>>>,
}

impl Read for Noted<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        self.gets.borrow_mut().push(key.to_vec());
        self.store.get(key)
    }

    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal> {
        let rows = self.store.scan(range, reverse, limit)?;
        self.scanned.borrow_mut().extend(rows.iter().map(|(key, _)| key.clone()));
        Ok(rows)
    }
}

/// Reads, and tells how much it found.
type Reading<'a> = &'a dyn Fn(&dyn Read) -> usize;

/// Whoever reads from afar has every row of a list once it has what the scans lead to, and what the heads point at.
#[test]
fn what_lists_read_is_known_ahead() {
    let steps = vec![agent("a", one(1)), task("t", role("reviewer"), one(2)), finish("done", "ok")];
    let mut w = World::new(&[process("p", &[], steps)]);
    let runs: Vec<_> = (0..6).map(|_| w.start(&a1(), "p", "{}").unwrap()).collect();
    for run in &runs[..3] {
        w.work(&a1(), *run, "a");
    }
    // One was refused, and its lease ended: it left issues behind.
    let claim = w.claim(&a1(), runs[3], "a").unwrap();
    w.submit(&a1(), &claim, submission("{}", "", None)).unwrap_err();
    w.advance(minutes(60));
    w.tick();
    let (reviewer, size) = (person("r", &["g_rev"]), PageSize { items: 100, bytes: u64::MAX });
    let definitions = &w.machine.definitions;
    let reads: [Reading<'_>; 4] = [
        &|store| read::work_page(store, definitions, &a1(), None, None, size, w.at).unwrap().items.len(),
        &|store| read::work_page(store, definitions, &reviewer, None, None, size, w.at).unwrap().items.len(),
        &|store| read::runs_page(store, "o", &RunFilter::default(), None, 100).unwrap().items.len(),
        &|store| usize::from(read::get_run(store, definitions, "o", runs[0], w.at).unwrap().is_some()),
    ];
    for (number, (reads, found)) in reads.iter().zip([3, 3, 6, 1]).enumerate() {
        let noted = Noted { store: &w.store, gets: RefCell::default(), scanned: RefCell::default() };
        assert_eq!(reads(&noted), found, "{number}");
        let heads: Vec<_> = noted.scanned.borrow().iter().filter_map(|key| ahead::of_index(key)).collect();
        let pointed = |head: &Vec<u8>| ahead::of_row(head, &w.store.get(head).unwrap().unwrap());
        let known: BTreeSet<_> = heads.iter().flat_map(pointed).chain(heads.clone()).collect();
        let gets = noted.gets.into_inner();
        let asked: Vec<_> = gets.iter().filter(|key| !known.contains(*key)).collect();
        // A run that is asked for by its id: its head is, and leads to the rest.
        let rest: Vec<_> =
            asked.iter().filter(|key| !asked.first().is_some_and(|head| pointed(head).contains(key))).collect();
        assert_eq!(rest.len(), usize::from(number == 3), "{number}: {rest:?}");
        assert!(gets.len() > found, "{number}: {}", gets.len());
    }
}
