use super::*;

#[test]
fn the_highest_tier_reached_prices_the_whole_request() {
    let prices = Prices {
        input: 1.0,
        output: 10.0,
        cache_read: 0.1,
        tiers: vec![
            PriceTier {
                input_tokens_above: 200_000,
                input: 2.0,
                output: 20.0,
                ..PriceTier::default()
            },
            PriceTier {
                input_tokens_above: 500_000,
                input: 4.0,
                ..PriceTier::default()
            },
        ],
        ..Prices::default()
    };
    let total = |input, cache_read, output| {
        prices
            .cost(&RequestUsage {
                input,
                output,
                cache_read,
                ..RequestUsage::default()
            })
            .total
    };
    assert!((total(100_000, 0, 1_000) - 0.11).abs() < 1e-9);
    assert!((total(150_000, 100_000, 0) - 0.3).abs() < 1e-9);
    assert!((total(600_000, 0, 0) - 2.4).abs() < 1e-9);
}
