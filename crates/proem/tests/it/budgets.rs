//! Budgets are never exceeded. The tests of the bindings cover usages, prices and threads.

use proem::{CallBudget, ErrorKind, ReportedUsage, prompt_token_bound};
use serde_json::json;

#[test]
fn a_call_is_refused_before_it_could_exceed_a_cap() {
    let budget = CallBudget::new(Some(10_000), Some(1.0)).unwrap();
    let booking = budget.book("gpt-4o", 40, 500).unwrap();
    assert_eq!(budget.book("gpt-4o", 20_000, 500).unwrap_err().kind(), ErrorKind::Exceeded);
    let usage = ReportedUsage { input_tokens: 12, output_tokens: 40, ..ReportedUsage::default() };
    booking.settle(Some(&usage)).unwrap();
    assert!(!booking.is_open() && booking.settle(Some(&usage)).unwrap_err().to_string().contains("closed"));
    assert_eq!(budget.spending().tokens, Some(52));
    budget.book("gpt-4o", 40, 500).unwrap().release();
    assert_eq!(budget.spending().tokens, Some(52));
    budget.book("gpt-4o", 40, 500).unwrap().settle(None).unwrap();
    assert!(budget.spending().tokens.unwrap() > 592);
    assert_eq!(CallBudget::new(None, None).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_prompt_has_at_most_a_token_for_each_byte() {
    for (prompt, expected) in [
        (json!("Grüße"), Some(7)),
        (json!([{ "role": "user", "content": "hi" }]), Some(32)),
        (json!([{ "content": [{ "type": "input_image", "url": "https://example.org/a.png" }] }]), None),
        (json!({ "content": { "data": [{ "type": "document" }] } }), None),
        (json!([{ "type": "imageUrl" }]), None),
        (json!({ "parts": [{ "fileData": { "fileUri": "gs://a/b.pdf" } }] }), None),
        (json!({ "source": { "s3Location": { "uri": "s3://a/b.png" } } }), None),
        (json!({ "type": "profile" }), Some(18)),
        (json!({ "properties": { "fileUri": { "type": "string" } } }), Some(44)),
    ] {
        let bound = prompt_token_bound(&prompt);
        assert_eq!(bound.as_ref().ok().copied(), expected, "{prompt}");
        assert!(bound.is_ok() || bound.unwrap_err().to_string().contains("give the most input"));
    }
}
