//! The thread that goes through the whole file and makes the index.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::index::{Index, Indexer};
use super::tape::Deck;

/// Time between two states of the index that are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// Units between two looks at the clock.
const BATCH: u32 = 64;

type Shared = Mutex<Arc<Index>>;

/// An index in the making. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Indexing(Arc<Shared>);

impl Indexing {
    /// Begins to read what is put on, from its beginning.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn start(deck: Deck) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let into = Arc::downgrade(&shared);
        std::thread::Builder::new().name("index".to_owned()).spawn(move || run(deck, &into))?;
        Ok(Self(shared))
    }

    /// The index so far.
    pub(super) fn index(&self) -> Arc<Index> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn run(mut deck: Deck, into: &Weak<Shared>) {
    let mut indexer = Indexer::default();
    let mut shown = Instant::now();
    for n in 0u32.. {
        match deck.advance() {
            Ok(Some(unit)) => indexer.take(deck.at(), &unit, &deck.engine),
            Ok(None) => break,
            Err(error) => {
                let mut limits = deck.told().1;
                limits.push(error.to_string());
                return finish(&indexer, limits, into);
            }
        }
        if n % BATCH == 0 && shown.elapsed() >= SHOWN_EVERY {
            shown = Instant::now();
            if !publish(indexer.index().clone(), into) {
                return;
            }
        }
    }
    finish(&indexer, deck.told().1, into);
}

fn finish(indexer: &Indexer, limits: Vec<String>, into: &Weak<Shared>) {
    let index = Index { complete: true, limits, ..indexer.index().clone() };
    publish(index, into);
}

/// Shows an index; answers whether anybody looks.
fn publish(index: Index, into: &Weak<Shared>) -> bool {
    let Some(shared) = into.upgrade() else { return false };
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(index);
    true
}
