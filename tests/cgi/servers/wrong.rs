//! A call that is wrong in itself, behind a server.

use super::{KEY, Site, install};

pub(super) fn a_call_that_is_wrong_is_a_500_whose_reason_only_the_operator_finds(site: &Site) {
    site.scene.write("large", vec![b'x'; 300_000]);
    let key = format!("Idempotency-Key: {KEY}");
    for option in ["--frobnicate", "--ttl=5", "--namespace="] {
        install(&site.scene, option);
        let post = ["--data-binary", "@large"];
        for words in [&[][..], &post, &["-H", &key, post[0], post[1]]] {
            let answer = site.answer(site.ask("/pay", words));
            let detail = answer.problem(500, "Internal Server Error");
            assert_eq!(detail, "The request could not be handled.");
        }
        let word = option.trim_end_matches(['=', '5']);
        assert!(site.web.log().contains(word), "{}", site.web.log());
    }
    assert_eq!(site.scene.runs(), 0);
}
