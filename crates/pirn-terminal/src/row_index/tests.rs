use proptest::prelude::*;

use super::RowIndex;

proptest! {
    #[test]
    fn it_says_what_a_plain_list_says(
        rows in prop::collection::vec(0_usize..5, 0..80),
        changes in prop::collection::vec((0_usize..90, 0_usize..7), 0..30),
    ) {
        let mut list = rows.clone();
        let mut index = RowIndex::default();
        for count in rows {
            index.push(count);
        }
        for (block, count) in changes {
            index.set(block, count);
            if let Some(place) = list.get_mut(block) {
                *place = count;
            }
        }
        let flat: Vec<(usize, usize)> = list
            .iter()
            .enumerate()
            .flat_map(|(block, count)| (0..*count).map(move |row| (block, row)))
            .collect();
        prop_assert_eq!(index.total(), flat.len());
        for row in 0..=flat.len() {
            prop_assert_eq!(index.block_at(row), flat.get(row).copied());
        }
        for block in 0..=list.len() {
            prop_assert_eq!(index.start_of(block), list[..block].iter().sum::<usize>());
        }
    }
}
