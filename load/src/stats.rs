//! Latency figures.

use std::time::Duration;

/// The value below which `share` (0 to 1) of the samples lie, in milliseconds.
pub fn percentile_ms(samples: &mut [Duration], share: f64) -> f64 {
    samples.sort_unstable();
    let last = samples.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a sample's rank"
    )]
    let rank = (last as f64 * share).round() as usize;
    samples.get(rank).map_or(0.0, |d| d.as_secs_f64() * 1000.0)
}
