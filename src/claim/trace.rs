//! What ties a call to the trace that it is part of: `TRACEPARENT`, as the W3C
//! recommendation *Trace Context* has it.

use std::fmt;

use super::id::{from_hex, to_hex};

/// The bit of the flags that says that the trace is recorded.
const SAMPLED: u8 = 1;

/// A place in a trace: below what a span hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span in it.
    pub span: [u8; 8],
    /// What is said of the trace.
    pub flags: u8,
}

impl TraceParent {
    /// Begins a trace.
    #[must_use]
    pub fn begin(trace: [u8; 16], span: [u8; 8]) -> Self {
        Self { trace, span, flags: SAMPLED }
    }

    /// Reads it; nothing where it is not one, which counts as none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // A later version may say more, behind another dash.
        let mut parts = text.trim_ascii().splitn(5, '-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = lower_hex(version)?;
        let is_known = match version {
            0 => parts.next().is_none(),
            u8::MAX => false,
            _ => true,
        };
        let (trace, span, [flags]) = (lower_hex(trace)?, lower_hex(span)?, lower_hex(flags)?);
        (is_known && trace != [0; 16] && span != [0; 8]).then_some(Self { trace, span, flags })
    }

    /// The same for what is below another span of the trace.
    #[must_use]
    pub fn below(self, span: [u8; 8]) -> Self {
        Self { span, ..self }
    }

    /// Whether somebody records the trace.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", to_hex(&self.trace), to_hex(&self.span), self.flags)
    }
}

fn lower_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    is_lower.then(|| from_hex(text)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_read_is_what_is_written() {
        let parent = TraceParent::parse(GOOD).unwrap();
        assert_eq!(parent.to_string(), GOOD);
        assert!(parent.is_sampled());
        let below = parent.below([1; 8]).to_string();
        assert_eq!(below, "00-0af7651916cd43dd8448eb211c80319c-0101010101010101-01");
    }

    #[test]
    fn a_later_version_may_say_more() {
        let later = GOOD.replacen("00", "01", 1) + "-and-more";
        assert_eq!(TraceParent::parse(&later), TraceParent::parse(GOOD));
    }

    #[test]
    fn what_the_recommendation_calls_invalid_is_none() {
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(TraceParent::parse(wrong), None, "{wrong}");
        }
    }
}
