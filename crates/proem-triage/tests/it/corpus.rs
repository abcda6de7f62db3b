//! The fuzzer's signals, as ordinary tests.

use std::{fs, path::Path};

use proem_text::json::compact;
use proem_triage::{ProjectSignal, SignalLog};

use super::read;

#[test]
fn the_laws_hold_for_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/triage");
    let (mut files, mut signals) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = String::from_utf8(fs::read(&path).unwrap()) else { continue };
        let found = read(&text);
        files += 1;
        signals += found.signals.len();
        let (mut log, mut reversed) = (SignalLog::default(), SignalLog::default());
        for signal in &found.signals {
            assert_eq!(ProjectSignal::read(&signal.write().unwrap()).as_ref(), Ok(signal), "{path:?}");
            let again = read(&compact(&signal.to_json()));
            assert_eq!((again.malformed.len(), again.signals.len()), (0, 1), "{path:?}");
            log.add(signal.clone());
        }
        found.signals.into_iter().rev().for_each(|signal| _ = reversed.add(signal));
        assert_eq!(log, reversed, "{path:?}");
    }
    assert!(files >= 12 && signals >= 12, "{files} files, {signals} signals");
}
