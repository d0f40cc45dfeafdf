//! Snapshots: what arrives is what left, or the import says so.
#![expect(clippy::unwrap_used, reason = "tests")]

use quorate_statemachine::digest;
use quorate_statemachine::store::{Memory, Store};
use quorate_statemachine::transfer::{Import, Position, export};

fn store(rows: u32) -> Memory {
    let mut store = Memory::default();
    for n in 0..rows {
        store.put(n.to_be_bytes().to_vec(), vec![n.to_le_bytes()[0]; 10]);
    }
    store
}

fn chunks(store: &Memory, bytes_max: usize) -> Vec<Vec<u8>> {
    let (mut chunks, mut position) = (Vec::new(), Some(Position::default()));
    while let Some(from) = position {
        let (chunk, next) = export(store, &from, bytes_max).unwrap();
        chunks.push(chunk);
        position = next;
    }
    chunks
}

#[test]
fn a_state_arrives_whole_whatever_the_chunk_size() {
    for rows in [0, 1, 63, 64, 65, 200] {
        for bytes_max in [1, 13, 14, 15, 896, 100_000] {
            let from = store(rows);
            let (mut to, mut import) = (Memory::default(), Import::new());
            let chunks = chunks(&from, bytes_max);
            for (n, chunk) in chunks.iter().enumerate() {
                assert_eq!(import.chunk(&mut to, chunk).unwrap(), n + 1 == chunks.len());
            }
            assert_eq!(to, from, "{rows} rows, {bytes_max} bytes");
            assert_eq!(digest(&to).unwrap(), digest(&from).unwrap());
        }
    }
}

#[test]
fn damage_gaps_repeats_and_mixtures_are_found() {
    let chunks = chunks(&store(200), 500);
    let other = self::chunks(&store(199), 500);
    assert!(chunks.len() > 4);
    for position in [0, 1, chunks[1].len() / 2, chunks[1].len() - 1] {
        let mut damaged = chunks[1].clone();
        damaged[position] ^= 1;
        let (mut to, mut import) = (Memory::default(), Import::new());
        import.chunk(&mut to, &chunks[0]).unwrap();
        let before = to.clone();
        import.chunk(&mut to, &damaged).unwrap_err();
        assert_eq!(to, before);
        import.chunk(&mut to, &chunks[1]).unwrap();
    }
    for wrong in [&chunks[0], &chunks[2], &other[other.len() - 1]] {
        let (mut to, mut import) = (Memory::default(), Import::new());
        import.chunk(&mut to, &chunks[0]).unwrap();
        import.chunk(&mut to, wrong).unwrap_err();
    }
    Import::new().chunk(&mut store(1), &chunks[0]).unwrap_err();
}

#[test]
fn a_digest_tells_states_apart() {
    let mut moved = Memory::default();
    moved.put(vec![1, 2], vec![3]);
    let mut other = Memory::default();
    other.put(vec![1], vec![2, 3]);
    assert_ne!(digest(&moved).unwrap(), digest(&other).unwrap());
}
