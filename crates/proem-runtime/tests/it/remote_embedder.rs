//! A server of embeddings as an embedder, over real sockets of this machine.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use proem_engine::providers::Provider;
use proem_engine::{Error, ErrorKind};
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_llm::scripted::{
    Delivery, DeliveryEnd, Reply, ReplyContent, ScriptedServer, ServerScript, VectorFault, Vectors,
};
use proem_llm::secret::Secret;
use proem_runtime::remote_embedder::{EmbedderLimits, MAX_TEXTS, RemoteEmbedder};
use proem_select::embedding::{Embedder as _, ModelId, embed_texts};

fn embedding_endpoint(base_url: &str) -> Endpoint {
    let limits = EndpointLimits { attempts: NonZeroU32::MIN, ..EndpointLimits::default() };
    let (name, base_url) = ("local".to_owned(), base_url.to_owned());
    Endpoint { name, provider: Provider::OpenAi, base_url, key: EndpointKey::None, limits, authorities: None }
}

fn embedder(endpoint: Endpoint) -> RemoteEmbedder {
    RemoteEmbedder::new(endpoint, "small", Some(8), EmbedderLimits::default()).unwrap()
}

fn vectors(fault: VectorFault) -> Reply {
    Reply::embeddings(Vectors { dimensions: 8, given: None, fault })
}

fn start(reply: Reply) -> ScriptedServer {
    ScriptedServer::start(ServerScript::of(vec![reply])).unwrap()
}

/// The failure of embedding two texts, with the server's address blanked.
#[track_caller]
fn fails(server: &ScriptedServer, embedder: &RemoteEmbedder, kind: ErrorKind, expected: &str) {
    let error = embed_texts(embedder, &["one", "two"]).unwrap_err();
    let text = error.to_string().replace(&server.address().to_string(), "HOST");
    let text = text.replace("embedding with `small` at provider `local`: ", "");
    assert_eq!((text.as_str(), error.kind()), (expected, kind));
}

/// The same for an answer of that kind.
#[track_caller]
fn check(reply: Reply, kind: ErrorKind, expected: &str) {
    let server = start(reply);
    fails(&server, &embedder(embedding_endpoint(&server.base_url())), kind, expected);
}

#[test]
fn each_text_has_its_vector_and_silent_ones_have_none() {
    for fault in [VectorFault::None, VectorFault::Reversed] {
        let server = start(vectors(fault));
        let embedder = embedder(embedding_endpoint(&server.base_url()));
        let all = embed_texts(&embedder, &["a b", "", "c", " \n", "a b"]).unwrap();
        let known: Vec<bool> = all.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, false, true, false, true]);
        assert_eq!(all[0], all[4]);
        assert_ne!(all[0], all[2]);
        assert_eq!(server.requests()[0].json().unwrap()["input"], serde_json::json!(["a b", "c", "a b"]));
        assert_eq!(embed_texts(&embedder, &["", "\t"]).unwrap(), [None, None]);
        assert_eq!((embedder.requests(), server.requests().len()), (1, 1));
    }
}

#[test]
fn many_texts_are_several_requests_in_order() {
    let server = start(vectors(VectorFault::None));
    let embedder = embedder(embedding_endpoint(&server.base_url()));
    let texts: Vec<String> = (0..500).map(|number| format!("text {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let all = embed_texts(&embedder, &texts).unwrap();
    let sizes: Vec<usize> =
        server.requests().iter().map(|request| request.json().unwrap()["input"].as_array().unwrap().len()).collect();
    assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().max().copied()), (500, Some(MAX_TEXTS)));
    for (text, vector) in texts.iter().zip(&all).step_by(83) {
        assert_eq!(&embed_texts(&embedder, &[text]).unwrap()[0], vector, "{text}");
    }
}

#[test]
fn a_request_is_as_small_as_its_answer_must_be() {
    let server = start(vectors(VectorFault::None));
    let mut endpoint = embedding_endpoint(&server.base_url());
    endpoint.limits.answer_bytes = 1_000;
    let embedder = RemoteEmbedder::new(endpoint, "small", Some(8), EmbedderLimits::default()).unwrap();
    embed_texts(&embedder, &["a", "b", "c", "d"]).unwrap();
    assert_eq!(server.requests().len(), 2, "three vectors of eight numbers fit into an answer");
}

#[test]
fn a_long_text_is_cut_between_two_characters() {
    let server = start(vectors(VectorFault::None));
    let limits = EmbedderLimits { text_bytes: NonZeroUsize::new(5).unwrap(), ..EmbedderLimits::default() };
    let embedder = RemoteEmbedder::new(embedding_endpoint(&server.base_url()), "small", None, limits).unwrap();
    embed_texts(&embedder, &["éééé"]).unwrap();
    assert_eq!(server.requests()[0].json().unwrap()["input"][0], "éé");
}

#[test]
fn useless_answers() {
    let invalid = ErrorKind::InvalidVector;
    let finite = "vector 1 contains a value that is not a finite number; check the server";
    check(
        vectors(VectorFault::NotANumber),
        invalid,
        "a vector contains a value that is not a finite number; check the server",
    );
    let null = br#"{"data":[{"embedding":[1,2,3,4,5,6,7,8]},{"embedding":[null,2,3,4,5,6,7,8]}]}"#.to_vec();
    check(Reply::raw(200, null), invalid, finite);
    let dimension = "vector 1 has 9 numbers where 8 are expected; check the model and `dimensions`";
    check(vectors(VectorFault::OtherDimension), invalid, dimension);
    check(vectors(VectorFault::TooFew), invalid, "the server sent 1 vectors for 2 texts; check the model");
    check(vectors(VectorFault::Twice), invalid, "the server sent 3 vectors for 2 texts; check the model");
    let page = "the answer is a web page, not JSON; check `base_url`";
    check(Reply::raw(200, "<!doctype html>"), invalid, page);
}

#[test]
fn a_vector_of_zeros_or_of_too_many_numbers_is_of_no_use() {
    let given = |vector: Vec<f32>| {
        Reply::embeddings(Vectors {
            dimensions: 8,
            given: Some(vec![vector.clone(), vector]),
            fault: VectorFault::None,
        })
    };
    let server = start(given(vec![0.0; 8]));
    let error = embed_texts(&embedder(embedding_endpoint(&server.base_url())), &["one", "two"]).unwrap_err();
    assert!(error.to_string().ends_with("gave a vector of length zero"), "{error}");
    let server = start(given(vec![1.0; 5_000]));
    let any =
        RemoteEmbedder::new(embedding_endpoint(&server.base_url()), "small", None, EmbedderLimits::default()).unwrap();
    let expected = "its vectors have 5000 numbers, and at most 4096 are read; set `dimensions` under `[embedding]`, or \
                    choose another model";
    fails(&server, &any, ErrorKind::InvalidVector, expected);
}

#[test]
fn servers_that_refuse() {
    let embedding = ErrorKind::Embedding;
    let moved = Reply::raw(307, "").header("location", "https://evil.example/v1/embeddings");
    let expected = "provider `local` redirected the request to `https://evil.example/v1/embeddings`; no redirect is followed; if that \
         address is correct, set `base_url` to `https://evil.example/v1`";
    check(moved, embedding, expected);
    let too_long = r#"{"error":{"message":"maximum context length is 512 tokens","code":"context_length_exceeded"}}"#;
    let expected = "a text is longer than the model accepts; lower `text_bytes` under `[embedding]`, which is 8000";
    check(Reply::raw(400, too_long), embedding, expected);
    let refused = r#"{"error":{"message":"this model has no dimensions","type":"invalid_request_error"}}"#;
    let expected = "provider `local` refused the request with status 400; correct what its message names; not every \
                    model can give vectors of 8 numbers: leave out `dimensions` if this model can't";
    check(Reply::raw(400, refused), embedding, expected);
    let unknown = "provider `local` has no model `small`, or this key is not allowed to use it; check the model's name \
                   and `base_url`";
    check(Reply::raw(404, r#"{"error":{"message":"model `small` is not there"}}"#), embedding, unknown);
}

#[test]
fn an_answer_of_ten_megabytes_is_not_read() {
    let reply = Reply::raw(200, format!("{{\"data\":[{}", " ".repeat(10_000_000)));
    let expected = "the answer is longer than 4194304 bytes; raise `providers.local.answer_bytes`, or set `dimensions` \
                    under `[embedding]`";
    check(reply, ErrorKind::Embedding, expected);
}

#[test]
fn a_wrong_key_is_named_by_its_variable() {
    let server = ScriptedServer::start(ServerScript::embeddings(8).with_key("sk-right")).unwrap();
    let keyed = |key: EndpointKey| embedder(Endpoint { key, ..embedding_endpoint(&server.base_url()) });
    let variable = || "LOCAL_KEY".to_owned();
    let wrong = EndpointKey::Loaded { variable: variable(), secret: Secret::new("LOCAL_KEY", "sk-wrong") };
    let expected = "provider `local` refused the key in `LOCAL_KEY`; set it to a valid key";
    fails(&server, &keyed(wrong), ErrorKind::Embedding, expected);
    let missing = keyed(EndpointKey::Missing { variable: variable() });
    fails(
        &server,
        &missing,
        ErrorKind::Embedding,
        "no key for provider `local`; set the environment variable LOCAL_KEY",
    );
    assert_eq!((missing.requests(), server.requests().len()), (0, 1));
    let right = EndpointKey::Loaded { variable: variable(), secret: Secret::new("LOCAL_KEY", "sk-right") };
    assert!(embed_texts(&keyed(right), &["one"]).is_ok());
}

#[test]
fn nobody_listens() {
    let server = start(vectors(VectorFault::None));
    let (address, base_url) = (server.address().to_string(), server.base_url());
    drop(server);
    let error = embed_texts(&embedder(embedding_endpoint(&base_url)), &["one"]).unwrap_err();
    let expected = format!(
        "embedding with `small` at provider `local`: nothing listens at `{address}`; start the server or check \
         `providers.local.base_url`; gave up after 1 attempt"
    );
    assert_eq!((error.to_string(), error.kind()), (expected, ErrorKind::Embedding));
}

#[test]
fn what_fails_for_a_moment_is_asked_again() {
    let server =
        ScriptedServer::start(ServerScript::of(vec![Reply::raw(500, ""), vectors(VectorFault::None)])).unwrap();
    let mut endpoint = embedding_endpoint(&server.base_url());
    endpoint.limits.attempts = NonZeroU32::new(2).unwrap();
    let embedder = embedder(endpoint);
    assert!(embed_texts(&embedder, &["one"]).is_ok());
    assert_eq!(embedder.requests(), 2);
}

#[test]
fn time_is_up_whatever_the_endpoint_allows() {
    let say = ReplyContent::Embeddings(Vectors { dimensions: 8, given: None, fault: VectorFault::None });
    let server = start(Reply { say, how: Delivery { delay_ms: 60_000, ..Delivery::default() } });
    let limits = EmbedderLimits { all: Duration::from_millis(100), ..EmbedderLimits::default() };
    let embedder = RemoteEmbedder::new(embedding_endpoint(&server.base_url()), "small", Some(8), limits).unwrap();
    let expected =
        "the vectors did not arrive within 0.1 s; raise `seconds` under `[embedding]`, or choose a faster server";
    fails(&server, &embedder, ErrorKind::Embedding, expected);
}

#[test]
fn an_answer_that_never_ends_is_left() {
    let say = ReplyContent::Embeddings(Vectors { dimensions: 8, given: None, fault: VectorFault::None });
    let how = Delivery { ending: DeliveryEnd::Endless(usize::MAX), ..Delivery::default() };
    check(
        Reply { say, how },
        ErrorKind::Embedding,
        "the answer is longer than 4194304 bytes; raise `providers.local.answer_bytes`, or set `dimensions` under \
         `[embedding]`",
    );
}

#[test]
fn who_failed_is_left_alone_and_who_answered_badly_is_not() {
    for (reply, requests) in [(Reply::raw(401, ""), 1), (vectors(VectorFault::NotANumber), 3)] {
        let server = start(reply);
        let embedder = embedder(embedding_endpoint(&server.base_url()));
        let errors: Vec<Error> = (0..3).map(|_| embed_texts(&embedder, &["one"]).unwrap_err()).collect();
        assert!(errors.iter().all(|error| *error == errors[0]));
        assert_eq!(server.requests().len(), requests);
    }
}

#[test]
fn ids_follow_address_model_and_dimensions() {
    let id = |base_url: &str, model: &str, dimensions: Option<u32>| {
        let embedder =
            RemoteEmbedder::new(embedding_endpoint(base_url), model, dimensions, EmbedderLimits::default()).unwrap();
        embedder.model().to_string()
    };
    let first = id("https://host.example/v1", "small", Some(8));
    assert!(first.starts_with("host.example/small@8#"), "{first}");
    assert_eq!(first, id("https://host.example/v1/", "small", Some(8)));
    let long = "m".repeat(300);
    let all = [
        id("https://host.example/v2", "small", Some(8)),
        id("http://host.example/v1", "small", Some(8)),
        id("https://host.example/v1", "small", None),
        id("https://host.example/v1", "Small", Some(8)),
        id(&format!("https://{}.example/v1", "h.".repeat(100)), &long, Some(u32::MAX)),
        id("https://host.example/v1", &format!("{long}x"), Some(8)),
        id("https://host.example/v1", "größer als `so`", Some(8)),
    ];
    assert!(all.iter().all(|other| *other != first && ModelId::new(other).is_ok()), "{all:?}");
}

#[test]
fn what_can_never_work_is_no_embedder() {
    let fails = |endpoint: Endpoint, expected: &str| {
        let error = RemoteEmbedder::new(endpoint, "small", None, EmbedderLimits::default()).unwrap_err().to_string();
        assert_eq!(error, format!("embedding with `small` at provider `local`: {expected}"));
    };
    let expected = "its protocol has no embeddings; choose a provider of protocol `openai`";
    fails(Endpoint { provider: Provider::Anthropic, ..embedding_endpoint("https://host/v1") }, expected);
    fails(embedding_endpoint("host"), "`providers.local.base_url` is not a URL; write it as `https://HOST/PATH`");
}

#[test]
fn it_may_be_asked_and_dropped_within_an_asynchronous_runtime() {
    let server = start(vectors(VectorFault::None));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let embedder = embedder(embedding_endpoint(&server.base_url()));
        assert!(embed_texts(&embedder, &["one"]).is_ok());
    });
}
