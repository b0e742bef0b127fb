//! Hands what is known of a call to a collector of traces, over HTTP.
//!
//! Only a process of our own that nobody waits for does that (`commands::deliver`); the way
//! there is `proxy`'s to say.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::{Deserialize, Serialize};
use ureq::Proxy;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// Something to be handed over, and to whom.
#[derive(Debug, Serialize, Deserialize)]
pub struct Delivery {
    /// The URL.
    pub endpoint: String,
    /// What is to be said besides, such as who we are.
    pub headers: Vec<(String, String)>,
    /// What it is trusted by, in place of what this machine trusts.
    pub certificate: Option<PathBuf>,
    /// How long it may take, if that is said.
    pub limit_ms: Option<u64>,
    /// The document.
    pub body: String,
}

impl Delivery {
    /// Hands it over, through this proxy, and hears what the collector says to it: closed
    /// before that, a connection may lose it.
    ///
    /// # Errors
    /// When nobody took it, in this time.
    pub fn send(&self, limit: Duration, proxy: Option<&str>) -> Result<(), ureq::Error> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(limit))
            .proxy(proxy.map(Proxy::new).transpose()?)
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent(concat!("doubletap/", env!("CARGO_PKG_VERSION")));
        let config = if is_secure(&self.endpoint) {
            config.tls_config(tls(&self.trusted()?))
        } else {
            config
        };
        let agent = config.build().new_agent();
        let mut request = agent.post(&self.endpoint).content_type("application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send(&self.body).map(drop)
    }

    /// What the collector is trusted by.
    fn trusted(&self) -> Result<Vec<CertificateDer<'static>>, ureq::Error> {
        let named = self.certificate.as_deref().map(read).transpose()?;
        Ok(named.unwrap_or_else(|| rustls_native_certs::load_native_certs().certs))
    }
}

/// The certificates in a file.
fn read(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    found.map_err(io::Error::other)
}

/// Whether we know how to talk to what a URL names.
#[must_use]
pub fn is_spoken(endpoint: &str) -> bool {
    begins(endpoint, "http://") || is_secure(endpoint)
}

fn is_secure(endpoint: &str) -> bool {
    begins(endpoint, "https://")
}

fn begins(endpoint: &str, scheme: &str) -> bool {
    endpoint.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// TLS with those that are trusted.
fn tls(trusted: &[CertificateDer<'_>]) -> TlsConfig {
    let trusted: Vec<_> =
        trusted.iter().map(|known| Certificate::from_der(known).to_owned()).collect();
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&trusted))
        .build()
}
