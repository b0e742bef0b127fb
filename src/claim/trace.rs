//! What ties a call to the trace that it is part of: `TRACEPARENT`, as the W3C
//! recommendation *Trace Context* has it.

use std::fmt;
use std::time::Duration;

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

    /// The same for what is below another span of the trace, one that is recorded.
    #[must_use]
    pub fn below(self, span: [u8; 8]) -> Self {
        Self { span, flags: self.flags | SAMPLED, ..self }
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

/// Which traces are recorded, as the OpenTelemetry specification calls the choices. The
/// default is what the caller has chosen, and all that begin here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Whether what is said of a trace that goes on here counts first.
    heeds_parent: bool,
    /// How many of all others: as many of 2⁶³.
    share: u64,
}

/// All of them, by [`Sampler::share`].
const ALL: u64 = 1 << 63;

impl Default for Sampler {
    fn default() -> Self {
        Self { heeds_parent: true, share: ALL }
    }
}

impl Sampler {
    /// Reads its name and what it is told; nothing where there is no such sampler.
    #[must_use]
    pub fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let (heeds_parent, name) = match name.strip_prefix("parentbased_") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let share = match name {
            "always_on" => ALL,
            "always_off" => 0,
            "traceidratio" => share(argument.unwrap_or("1"))?,
            _ => return None,
        };
        Some(Self { heeds_parent, share })
    }

    /// Whether a trace is recorded that is below `parent`, if it does not begin here. The
    /// same trace is recorded everywhere, or nowhere, by the same share: its id decides.
    #[must_use]
    pub fn records(self, parent: Option<TraceParent>, trace: [u8; 16]) -> bool {
        let [_, _, _, _, _, _, _, _, low @ ..] = trace;
        match parent {
            Some(parent) if self.heeds_parent => parent.is_sampled(),
            _ => u64::from_be_bytes(low) >> 1 < self.share,
        }
    }
}

/// A part of 1 as one of [`ALL`].
fn share(text: &str) -> Option<u64> {
    let part: f64 = text.parse().ok()?;
    // As much as can be told apart: the rest of a number is zeros.
    (0.0..=1.0)
        .contains(&part)
        .then(|| Duration::from_secs_f64(part).as_nanos())
        .and_then(|nanos| u64::try_from(nanos * u128::from(ALL) / 1_000_000_000).ok())
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
    const TRACE: [u8; 16] = [0x80; 16];

    #[test]
    fn a_sampler_heeds_the_caller_or_does_not() {
        let parent = |flags| Some(TraceParent { trace: TRACE, span: [1; 8], flags });
        let [not, recorded] = [parent(0), parent(1)];
        for (name, [of_not, of_recorded, of_none]) in [
            ("always_on", [true, true, true]),
            ("always_off", [false, false, false]),
            ("parentbased_always_on", [false, true, true]),
            ("parentbased_always_off", [false, true, false]),
            ("traceidratio", [true, true, true]),
            ("parentbased_traceidratio", [false, true, true]),
        ] {
            let sampler = Sampler::parse(name, None).unwrap();
            let all = [not, recorded, None].map(|parent| sampler.records(parent, TRACE));
            assert_eq!(all, [of_not, of_recorded, of_none], "{name}");
        }
        assert_eq!(Sampler::parse("parentbased_always_on", None), Some(Sampler::default()));
    }

    #[test]
    fn a_share_of_all_traces_is_recorded() {
        let records = |part: &str, first: u8| {
            let sampler = Sampler::parse("traceidratio", Some(part)).unwrap();
            let [mut high, low] = [[0; 8], [first, 0, 0, 0, 0, 0, 0, 0]];
            high[0] = 0xff;
            let trace: Vec<u8> = high.into_iter().chain(low).collect();
            sampler.records(None, trace.try_into().unwrap())
        };
        assert!(records("0.5", 0x7f) && !records("0.5", 0x80));
        assert!(records("0.25", 0x3f) && !records("0.25", 0x40));
        assert!(records("1", 0xff) && !records("0", 0));
    }

    #[test]
    fn what_is_no_sampler_is_none() {
        for (name, argument) in [
            ("", None),
            ("parentbased_", None),
            ("xray", None),
            ("traceidratio", Some("")),
            ("traceidratio", Some("1.1")),
            ("traceidratio", Some("-0.1")),
            ("traceidratio", Some("NaN")),
        ] {
            assert_eq!(Sampler::parse(name, argument), None, "{name} {argument:?}");
        }
    }
}
