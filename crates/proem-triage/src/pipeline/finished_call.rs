//! A call that is over, as it is in each later state.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::findings::StageExchange;

/// A call that is over. A run has many and its state is written before each request, so one is turned into JSON once
/// and is in every later state as a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallOver {
    pub(super) exchange: StageExchange,
    /// `None` for one that can't be written down, which the state then says when it is.
    written: Option<String>,
}

impl CallOver {
    pub(super) fn new(exchange: StageExchange) -> Self {
        Self { written: serde_json::to_string(&exchange).ok(), exchange }
    }
}

impl Serialize for CallOver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.written {
            Some(written) => serializer.serialize_str(written),
            None => self.exchange.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CallOver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// States of before have the call itself.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Whole(Box<StageExchange>),
        }
        match Written::deserialize(deserializer)? {
            Written::Text(written) => {
                let exchange = serde_json::from_str(&written).map_err(de::Error::custom)?;
                Ok(Self { exchange, written: Some(written) })
            }
            Written::Whole(exchange) => Ok(Self::new(*exchange)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proem_engine::run::{ExchangeEnd, FallbackReason, Outcome};
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::pipeline::stage::{PipelineModel, PipelineStage};

    #[test]
    fn a_call_is_read_as_a_text_and_as_it_stood_in_states_of_before() {
        let ended = ExchangeEnd::Failed { because: FallbackReason::CutOff };
        let outcome = Outcome { ended, attempts: Vec::new() };
        let exchange =
            StageExchange { stage: PipelineStage::Classify, model: PipelineModel::Small, members: vec![3, 5], outcome };
        let before = serde_json::to_value(&exchange).unwrap();
        let call = CallOver::new(exchange);
        let written = serde_json::to_value(&call).unwrap();
        assert!(written.is_string(), "{written}");
        for state in [written, before] {
            assert_eq!(CallOver::deserialize(&state).unwrap(), call);
        }
        for other in [json!("{}"), Json::Null, json!({ "stage": "classify" })] {
            assert!(CallOver::deserialize(&other).is_err(), "{other}");
        }
    }
}
