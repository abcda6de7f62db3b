//! A model's statements about its own action.

use super::outside;
use proem_guard::{
    Untrusted,
    check::{ApprovalNeed, Confidence, HoldMinutes, Reach, Strictness, reach, tighten},
};
use proem_text::Label;
use std::fmt::Debug;

fn table<T: Strictness + PartialEq + Debug>(loose: T, strict: T) {
    let said = |value: T| Untrusted::new(value, Label::trusted());
    for (model, computed, expected) in [
        (None, loose, loose),
        (None, strict, strict),
        (Some(loose), strict, strict),
        (Some(strict), loose, strict),
        (Some(loose), loose, loose),
    ] {
        assert_eq!(tighten(model.map(said).as_ref(), computed), expected, "{model:?} {computed:?}");
    }
}

#[test]
fn flags_only_tighten() {
    table(ApprovalNeed::NotNeeded, ApprovalNeed::Needed);
    table(ApprovalNeed::from(false), ApprovalNeed::from(true));
    table(Reach::from(false), Reach::from(true));
    table(HoldMinutes(5), HoldMinutes(30));
    table(Confidence::new(900), Confidence::new(200));
    assert_eq!(Confidence::new(1_001).thousandths(), 0);
}

#[test]
fn reach_is_computed_from_the_domain() {
    for (recipient, expected) in [
        ("ada@corp.com", Reach::Internal),
        ("Ada <ADA@Corp.COM>", Reach::Internal),
        ("ada@bücher.example", Reach::Internal),
        ("ada@xn--bcher-kva.example", Reach::Internal),
        ("ada@corp.com.evil", Reach::External),
        ("ada@evil-corp.com", Reach::External),
        ("ada@mail.corp.com", Reach::External),
        ("ada@corp.com@evil.com", Reach::External),
        ("ada@cоrp.com", Reach::External),
        ("@ada", Reach::External),
        ("corp.com", Reach::External),
        ("", Reach::External),
    ] {
        assert_eq!(reach(&outside(recipient), &["corp.com", "bücher.example"]), expected, "{recipient:?}");
    }
}
