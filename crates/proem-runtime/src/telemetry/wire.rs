//! The messages of OTLP that carry spans, as far as Proem writes or reads them.
//!
//! Field numbers are those of `opentelemetry-proto` 1.x (<https://github.com/open-telemetry/opentelemetry-proto>). The
//! crate of that name would bring OpenTelemetry's SDK along; tests decode what is written here with it.

use prost::{Message, Oneof};

/// A request to take spans.
#[derive(Clone, PartialEq, Message)]
pub struct TraceRequest {
    /// Spans by the program that made them.
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// The spans of one program.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its spans by the part of it that describes them.
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// A program.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// Its name and version.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// The spans that one part of a program describes.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    /// The part.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<SpanScope>,
    /// What it describes, each as [`TraceSpan::encode`] writes it.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub spans: Vec<Vec<u8>>,
}

/// A part of a program that describes spans.
#[derive(Clone, PartialEq, Message)]
pub struct SpanScope {
    /// The program's name, since it has one part.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The version of that program.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// A span: an operation with its beginning and its end. Its fields are those of one message, in two structs: protobuf
/// writes the fields of a message one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSpan {
    /// Its place in a trace.
    pub place: SpanPlace,
    /// Its name, its times, and how it went.
    pub operation: OperationCourse,
}

impl TraceSpan {
    /// The span as it is written.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.place.encode_to_vec();
        bytes.extend(self.operation.encode_to_vec());
        bytes
    }
}

/// The place of a span in a trace.
#[derive(Clone, PartialEq, Message)]
pub struct SpanPlace {
    /// The trace that it belongs to, 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// Its id in the trace, 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// The span that it is part of. Empty for the first of a trace.
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
}

/// An operation with its beginning and its end.
#[derive(Clone, PartialEq, Message)]
pub struct OperationCourse {
    /// What it does to what, of which there are few.
    #[prost(string, tag = "5")]
    pub name: String,
    /// The kind of operation.
    #[prost(enumeration = "SpanKind", tag = "6")]
    pub kind: i32,
    /// Its beginning, in nanoseconds since 1970.
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    /// Its end, in nanoseconds since 1970.
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    /// What is known about it.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    /// Moments in it.
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<SpanEvent>,
    /// Whether it failed.
    #[prost(message, optional, tag = "15")]
    pub status: Option<SpanStatus>,
}

/// The kind of operation that a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum SpanKind {
    /// Nobody said so.
    Unspecified = 0,
    /// Within the program.
    Internal = 1,
    /// A request to another program.
    Client = 3,
}

/// A moment in a span.
#[derive(Clone, PartialEq, Message)]
pub struct SpanEvent {
    /// The time, in nanoseconds since 1970.
    #[prost(fixed64, tag = "1")]
    pub time_unix_nano: u64,
    /// What happened.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What is known about it.
    #[prost(message, repeated, tag = "3")]
    pub attributes: Vec<KeyValue>,
}

/// Whether a span failed.
#[derive(Clone, PartialEq, Message)]
pub struct SpanStatus {
    /// The reason of a failure.
    #[prost(string, tag = "2")]
    pub message: String,
    /// 2 if it failed. Without a failure it stays unset, as the conventions want it.
    #[prost(int32, tag = "3")]
    pub code: i32,
}

impl SpanStatus {
    /// The code of a failure.
    pub const FAILED: i32 = 2;
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// The name by the conventions, or one of ours.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it says of a span.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    /// The value in its type.
    #[prost(oneof = "AttributeValue", tags = "1, 2, 3, 5")]
    pub value: Option<AttributeValue>,
}

/// A value in its type.
#[derive(Clone, PartialEq, Oneof)]
pub enum AttributeValue {
    /// Words in UTF-8.
    #[prost(string, tag = "1")]
    Text(String),
    /// Yes or no.
    #[prost(bool, tag = "2")]
    Flag(bool),
    /// A whole number.
    #[prost(int64, tag = "3")]
    Count(i64),
    /// Several values.
    #[prost(message, tag = "5")]
    List(ValueList),
}

/// Several values.
#[derive(Clone, PartialEq, Message)]
pub struct ValueList {
    /// They.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<AnyValue>,
}

/// The answer to a [`TraceRequest`].
#[derive(Clone, PartialEq, Message)]
pub struct TraceAnswer {
    /// What was not taken.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

/// Spans that were not taken while others were.
#[derive(Clone, PartialEq, Message)]
pub struct PartialSuccess {
    /// How many. With none, the message is a warning.
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    /// Why.
    #[prost(string, tag = "2")]
    pub error_message: String,
}
