//! A certificate authority that only one test knows, and a server's certificate of it.

use std::path::PathBuf;

use super::keeper::Home;
use super::network::SERVER;
use super::tool::{answer, program};

/// How both certificates look.
const FORM: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = a test of doubletap
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
";

/// The authority's certificate, for those that verify.
pub(super) const AUTHORITY: &str = "authority.pem";
/// The server's certificate, for `localhost` and for its address in a network.
pub(super) const CERTIFICATE: &str = "server.pem";
/// The server's key.
pub(super) const KEY: &str = "server.key";

/// Makes all three in a server's folder.
pub(super) fn certify(home: &Home) {
    let openssl = program("openssl", "openssl").display().to_string();
    let names = format!("subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1, IP:{SERVER}\n");
    home.write("form.cnf", &format!("{FORM}{names}"));
    let at = |name: &str| home.path().join(name).display().to_string();
    let [form, root, root_key] = [at("form.cnf"), at(AUTHORITY), at("authority.key")];
    let [request, certificate, key] = [at("server.csr"), at(CERTIFICATE), at(KEY)];
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

    let make = ["-x509", "-extensions", "authority", "-days", "2", "-out", &root];
    let words = [&openssl, "req", "-config", &form, "-keyout", &root_key];
    answer(&[&words[..], &curve, &make].concat());
    let words = [&openssl, "req", "-config", &form, "-keyout", &key, "-new", "-out", &request];
    answer(&[&words[..], &curve].concat());
    let words = [&openssl, "x509", "-req", "-in", &request, "-CA", &root, "-CAkey", &root_key];
    let sign = ["-CAcreateserial", "-days", "2", "-extfile", &form, "-extensions", "server"];
    answer(&[&words[..], &sign, &["-out", &certificate]].concat());
    for name in [AUTHORITY, CERTIFICATE, KEY] {
        home.hand_over(&PathBuf::from(at(name)));
    }
}
