//! `setup`: creates the store, or makes an older one a newer one.

use crate::exit::Ending;

use super::Context;
use crate::store::setup::Made;

/// Sets the store up. Doing so again changes nothing.
pub(super) fn run(context: &Context) -> anyhow::Result<Ending> {
    let made = context.set_up()?;
    context.voice.tell(|| {
        let what = match made {
            Made::Created => "it was created",
            Made::Migrated => "it was of an older release, and was migrated",
            Made::Nothing => "there was nothing to be done",
        };
        format!("the store {}: {what}", context.place())
    });
    Ok(Ending::OK)
}
