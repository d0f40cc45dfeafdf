use serde_json::json;

use super::{BASE, World};

async fn hash(world: &World, file: &str) -> String {
    world.import(file).await["hash"].as_str().unwrap().to_owned()
}

/// D/B-05: the hash is of the parsed data and of the body's bytes.
#[tokio::test]
async fn spelling_does_not_change_the_hash_and_the_body_does() {
    let world = World::new();
    let base = hash(&world, BASE).await;
    assert_eq!(base, "420a1365c78f3d1eef7d5d8abd76fd69de3d24d06762ee93ec21323bfae445c9");
    let (_, body) = BASE.split_once("\n---\n").unwrap();
    let spelled = "---\n# A comment.\nsteps:\n  - id: 'a'\n    next: z\n    agent: \"do it\"\n  - finish: ok\n    id: z\ndescription: d\nname: p";
    assert_eq!(hash(&world, &format!("{spelled}\n---\n{body}")).await, base);
    let (front, _) = BASE.split_once("\n---\n").unwrap();
    assert_eq!(hash(&world, &format!("{}\r\n---\r\n{body}", front.replace('\n', "\r\n"))).await, base);
    assert_ne!(hash(&world, &format!("{BASE}\n")).await, base);
    assert_ne!(hash(&world, &BASE.replace("Body.", "body.")).await, base);
}

/// D/B-06: what is written counts, not what it means.
#[tokio::test]
async fn other_words_for_the_same_are_another_hash() {
    let world = World::new();
    let with = |inputs: &str| BASE.replace("steps:", &format!("inputs: {inputs}\nsteps:"));
    let mut all = vec![
        hash(&world, &with("{ amount: number }")).await,
        hash(&world, &with("{ amount: { type: number } }")).await,
        hash(&world, &with("{ amount: { type: number, optional: false } }")).await,
        hash(&world, BASE).await,
        hash(&world, &BASE.replace(", next: z", "")).await,
        hash(&world, &BASE.replace("next: z", "next: z, check: Is it done?")).await,
        hash(&world, &BASE.replace("next: z", "next: z, check: [{ ask: Is it done? }]")).await,
    ];
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_eq!(world.listed("demo").await, json!([]));
}
