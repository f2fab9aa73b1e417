//! The datasets in the binary.

use teda_datasets::{Request, cards};

use crate::support::{dataset, of_split, request, says, try_load};

#[test]
fn every_one_loads_in_every_split() {
    for card in cards() {
        let read = dataset(card.name);
        assert_eq!(read.name, card.name);
        assert_eq!(read.licence, Some(card.licence));
        assert_eq!(read.split.as_deref(), Some(card.default_split));
        assert_eq!(read.empty, 0);
        for split in card.splits {
            let part = of_split(card.name, split.name).unwrap();
            assert_eq!(part.rows, split.rows, "{}", card.name);
        }
        let all = of_split(card.name, "all").unwrap();
        assert_eq!(all.rows, card.rows, "{}", card.name);
        assert_eq!(all.rows, all.texts.len() + all.merged);
        let message = of_split(card.name, "tets").unwrap_err().to_string();
        says(&message, &[card.name, "split 'tets'", "train", "all"]);
    }
}

#[test]
fn the_texts_are_the_same_on_every_machine() {
    let read = try_load(&Request {
        limit: Some(2),
        ..request("snips")
    })
    .unwrap();
    assert_eq!(
        read.texts,
        [
            "listen to westbam alumb allergic on google music",
            "add step to me to the 50 clásicos playlist"
        ]
    );
    let distinct = ["snips", "medquad-questions", "medquad-answers", "novels"]
        .map(|name| dataset(name).texts.len());
    assert_eq!(distinct, DISTINCT);
}

/// Distinct texts in the train split of each shipped dataset.
const DISTINCT: [usize; 4] = [12_859, 14_979, 15_809, 19_579];
