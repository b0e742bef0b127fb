//! TLS as `sslmode` says.
//!
//! `verify-full` looks at the certificate and the name in it, `verify-ca` at the
//! certificate alone. `require` and what is weaker encrypt, and do not know for whom.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Mode, Roots, Security};

/// What is looked at of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Nothing.
    Anybody,
    /// Who signed it.
    Signed,
    /// That, and whose it is.
    Named,
}

/// Makes what protects a connection.
pub(super) fn connector(security: &Security) -> Result<MakeRustlsConnect, String> {
    let trust = match security.mode {
        Mode::VerifyFull => Trust::Named,
        Mode::VerifyCa => Trust::Signed,
        Mode::Disable | Mode::Allow | Mode::Prefer | Mode::Require => Trust::Anybody,
    };
    let provider = Arc::new(ring::default_provider());
    let (roots, own) = match trust {
        Trust::Anybody => (RootCertStore::empty(), Vec::new()),
        Trust::Signed | Trust::Named => trusted(&security.roots)?,
    };
    let judge = Judge { trust, roots, own, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge));
    let config = match &security.identity {
        None => config.with_no_client_auth(),
        Some((cert, key)) => {
            let ours = certificates(cert)?;
            let unusable =
                |why: String| format!("the key {} cannot be used ({why})", key.display());
            let key = PrivateKeyDer::from_pem_file(key).map_err(|why| unusable(why.to_string()))?;
            config.with_client_auth_cert(ours, key).map_err(|why| unusable(why.to_string()))?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// Who is trusted to sign, and the same certificates as they are.
fn trusted(roots: &Roots) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), String> {
    let found = match roots {
        Roots::File(path) => certificates(path)?,
        Roots::System | Roots::Unnamed => rustls_native_certs::load_native_certs().certs,
    };
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(found.iter().cloned());
    if added == 0 {
        return Err("no certificate is trusted; name one with sslrootcert=FILE".to_owned());
    }
    // Whoever is trusted by all the world is no server of ours.
    let own = if matches!(roots, Roots::File(_)) { found } else { Vec::new() };
    Ok((store, own))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.map_err(|why| format!("the certificates in {} cannot be read ({why})", path.display()))
}

/// Looks at a server's certificate.
#[derive(Debug)]
struct Judge {
    trust: Trust,
    roots: RootCertStore,
    /// Certificates in the file of roots: a server's own may be among them.
    own: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Judge {
    /// A certificate that signed itself and is in the file of roots is trusted, which
    /// openssl does too: the documentation of PostgreSQL makes one so. Its dates have been
    /// looked at before it is found to be an authority's.
    fn is_own(&self, certificate: &CertificateDer<'_>, why: &Error) -> bool {
        let Error::InvalidCertificate(CertificateError::Other(why)) = why else { return false };
        why.to_string().contains("CaUsedAsEndEntity") && self.own.contains(certificate)
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.trust != Trust::Anybody {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let signed = verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &self.roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            );
            signed.or_else(|why| if self.is_own(end_entity, &why) { Ok(()) } else { Err(why) })?;
            if self.trust == Trust::Named {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
