//! One page out of the pages of several shards.

/// Most that the items of a page take together, in bytes of JSON; a single one may be larger.
pub(super) const PAGE_BYTES_MAX: u64 = 2 << 20;

/// Rows of several shards in order.
pub(super) struct Merged<K, T> {
    /// The rows with their places.
    pub(super) rows: Vec<(K, T)>,
    /// After which place there may be more.
    pub(super) more: Option<K>,
}

impl<K: Ord + Copy, T> Merged<K, T> {
    /// At most `limit` rows of pages that each begin at the same place.
    pub(super) fn new(pages: impl IntoIterator<Item = (Vec<(K, T)>, Option<K>)>, limit: usize) -> Self {
        let (mut rows, mut horizon) = (Vec::new(), None::<K>);
        for (page, more) in pages {
            rows.extend(page);
            horizon = horizon.into_iter().chain(more).min();
        }
        rows.sort_by_key(|(key, _)| *key);
        // Beyond the row where a shard's page stopped, that shard may hold rows that come first.
        if let Some(horizon) = &horizon {
            rows.retain(|(key, _)| key <= horizon);
        }
        let mut merged = Self { rows, more: horizon };
        merged.cut(limit);
        merged
    }

    /// Leaves the rows that fit into a page by their `bytes`, at least one.
    pub(super) fn fit(&mut self, bytes: impl Fn(&T) -> u64) {
        let mut total = 0u64;
        let fits = self.rows.iter().take_while(|(_, row)| {
            total = total.saturating_add(bytes(row));
            total <= PAGE_BYTES_MAX
        });
        let fits = fits.count().max(1);
        self.cut(fits);
    }

    fn cut(&mut self, limit: usize) {
        if self.rows.len() > limit {
            self.rows.truncate(limit);
            self.more = self.rows.last().map(|(key, _)| *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(pages: &[(&[u8], Option<u8>)], limit: usize) -> Merged<u8, ()> {
        let rows = |keys: &[u8]| keys.iter().map(|key| (*key, ())).collect();
        Merged::new(pages.iter().map(|(keys, more)| (rows(keys), *more)), limit)
    }

    #[test]
    fn rows_end_where_the_first_shard_stopped() {
        for (pages, limit, rows, more) in [
            (&[(&[1, 4, 6][..], None), (&[2, 3], Some(3))][..], 9, &[1, 2, 3][..], Some(3)),
            (&[(&[1, 4], Some(4)), (&[2, 3], Some(3))], 2, &[1, 2], Some(2)),
            (&[(&[1], None), (&[2], None)], 2, &[1, 2], None),
            (&[(&[], Some(7)), (&[8], None)], 2, &[], Some(7)),
        ] {
            let merged = merged(pages, limit);
            assert_eq!(
                (merged.rows.iter().map(|(key, ())| *key).collect::<Vec<_>>().as_slice(), merged.more),
                (rows, more)
            );
        }
    }

    #[test]
    fn a_page_has_one_row_and_more_while_they_fit() {
        for (bytes, rows, more) in [
            (1, 3, None),
            (PAGE_BYTES_MAX / 2, 2, Some(2)),
            (PAGE_BYTES_MAX / 2 + 1, 1, Some(1)),
            (u64::MAX, 1, Some(1)),
        ] {
            let mut merged = merged(&[(&[1, 2, 3], None)], 5);
            merged.fit(|()| bytes);
            assert_eq!((merged.rows.len(), merged.more), (rows, more), "{bytes}");
        }
    }
}
