//! Floating-point numbers in JSON, including infinities and NaN.
//!
//! JSON has no infinity and serde_json writes `null` for one, which then does not read back. An attack that knows
//! exact likelihoods does produce infinite margins, so the three values without a JSON number are written as the
//! strings `inf`, `-inf` and `nan`.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;

/// Serialises a finite number as a number, any other as its name.
///
/// # Errors
/// Those of the serialiser.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else if value.is_nan() {
        serializer.serialize_str("nan")
    } else if *value > 0.0 {
        serializer.serialize_str("inf")
    } else {
        serializer.serialize_str("-inf")
    }
}

/// The inverse of [`serialize`].
///
/// # Errors
/// Those of the deserialiser, for anything that is neither a number nor such a name.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Number)
}

/// For a number that may be missing.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Item(#[serde(with = "super")] f64);

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&value.map(Item), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Item>::deserialize(deserializer)?.map(|item| item.0))
    }
}

/// For lists.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Item(#[serde(with = "super")] f64);

    pub(crate) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| Item(*value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let items = Vec::<Item>::deserialize(deserializer)?;
        Ok(items.into_iter().map(|item| item.0).collect())
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<f64, E> {
        match value {
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            "nan" => Ok(f64::NAN),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Holder(#[serde(with = "super")] f64);

    #[test]
    fn every_number_reads_back_bit_for_bit() {
        for value in [
            0.0,
            -0.0,
            1.0,
            0.1,
            f64::MIN_POSITIVE,
            5e-324,
            -1e308,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            let text = serde_json::to_string(&Holder(value)).unwrap();
            let back: Holder = serde_json::from_str(&text).unwrap();
            assert_eq!(back.0.to_bits(), value.to_bits(), "{text}");
        }
        let text = serde_json::to_string(&Holder(f64::NAN)).unwrap();
        assert!(serde_json::from_str::<Holder>(&text).unwrap().0.is_nan());
        assert_eq!(serde_json::from_str::<Holder>("3").unwrap().0, 3.0);
        assert!(serde_json::from_str::<Holder>("\"many\"").is_err());
    }
}
