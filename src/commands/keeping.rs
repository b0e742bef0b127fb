//! How long a record is good.

use jiff::tz::TimeZone;

use crate::claim::attempt::Promise;
use crate::claim::duration::Limit;
use crate::claim::period::{Calendar, Per};
use crate::claim::time::WallMs;
use crate::cli::once::{KeepArgs, PerArg};
use crate::exit::Refusal;
use crate::store::{Keep, KeepUntil};

/// The calendar that the key follows, if it does.
pub(super) fn calendar(args: &KeepArgs) -> anyhow::Result<Option<Calendar>> {
    let Some(per) = args.per else { return Ok(None) };
    let per = match per {
        PerArg::Hour => Per::Hour,
        PerArg::Day => Per::Day,
        PerArg::Week => Per::Week,
        PerArg::Month => Per::Month,
        PerArg::Year => Per::Year,
    };
    let zone = match &args.tz {
        Some(name) => TimeZone::get(name)
            .map_err(|_| Refusal::usage(format!("--tz {name}: this system knows no such zone")))?,
        None => TimeZone::system(),
    };
    Ok(Some(Calendar { per, zone }))
}

/// How long the record of an attempt that started then is replayed.
pub(super) fn keep(args: &KeepArgs, calendar: Option<&Calendar>, started: WallMs) -> Keep {
    let period = calendar.and_then(|calendar| calendar.period(started).ok());
    let until = match (period, args.ttl) {
        (Some(period), _) => KeepUntil::At(period.end),
        (None, Some(Limit::After(span))) => KeepUntil::For(span),
        (None, Some(Limit::Forever) | None) => KeepUntil::Pruned,
    };
    let asked = period.is_some() || args.ttl.is_some();
    Keep { until, promise: if asked { Promise::Explicit } else { Promise::Default } }
}
