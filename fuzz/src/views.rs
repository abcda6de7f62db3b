//! Every reading leads back to the original in order, copies are exact, limits hold.

use proem_guard::view::{DecodingLimits, all_readings, folded_view};
use proem_text::{Span, View};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let limits = DecodingLimits::for_text(text.len());
    let readings = all_readings(text, &limits);
    assert_eq!(readings.all[0].view.text, readings.clean.text);
    let mut bytes = 0;
    for (index, reading) in readings.all.iter().enumerate() {
        check(text, &reading.view);
        assert_eq!(reading.steps.is_empty(), index == 0);
        assert!(reading.steps.len() <= limits.depth);
        bytes += if index == 0 { 0 } else { reading.view.text.len() };
    }
    assert!(readings.all.len() <= limits.readings + 1 && bytes <= limits.bytes);
    for place in &readings.undecoded {
        assert!(text.get(place.start..place.end).is_some(), "{place:?}");
    }
    let once = folded_view(text);
    check(text, &once);
    assert_eq!(folded_view(&once.text).text, once.text);
}

fn check(text: &str, view: &View) {
    assert_eq!(view.map.view_len(), view.text.len());
    let mut last = Span::new(0, 0);
    for (start, c) in view.text.char_indices() {
        let place = view.map.original(Span::new(start, start + c.len_utf8()));
        assert!(text.get(place.start..place.end).is_some(), "{c:?} at {start} maps to {place:?}");
        assert!(place.start >= last.start && place.end >= last.end, "{place:?} after {last:?}");
        last = place;
    }
    for (copy, place) in view.map.copies() {
        assert_eq!(view.text.get(copy.start..copy.end), text.get(place.start..place.end));
    }
}
