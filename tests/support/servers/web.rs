//! Web servers of a test's own, on a free port of the loopback address. They run as
//! whoever runs the tests: what they start is the program under test, which others may
//! not be able to reach.

use std::ffi::OsString;
use std::net::TcpStream;
use std::path::Path;

use nix::unistd::geteuid;

use super::keeper::{Home, KILL, Keeper};
use super::place::free_port;
use super::tool::program;

/// Told to end, a server ends its workers.
const TERM: &str = r#"kill -TERM "$server"; wait "$server""#;

/// What Debian's Apache loads and a site may need; `a2enmod cgid` adds the last one.
const APACHE_MODULES: [&str; 8] = [
    "mpm_event",
    "alias",
    "authn_core",
    "authz_core",
    "authn_file",
    "auth_basic",
    "authz_user",
    "cgid",
];

/// A running web server. Dropping it ends it and removes its folder.
pub(crate) struct Web {
    port: u16,
    keepers: Vec<Keeper>,
}

impl Web {
    /// lighttpd with this configuration, beside what every instance needs.
    #[track_caller]
    pub(crate) fn lighttpd(config: &str) -> Self {
        let lighttpd = program("lighttpd", "lighttpd");
        let (home, port) = (Home::ours(), free_port());
        let folder = home.path().display().to_string();
        home.write(
            "lighttpd.conf",
            &format!(
                "server.port = {port}\nserver.bind = \"127.0.0.1\"\nserver.document-root = \"{folder}\"\nserver.errorlog = \"{folder}/errors\"\nserver.upload-dirs = ( \"{folder}\" )\n{config}"
            ),
        );
        let words: [OsString; 4] =
            [lighttpd.into(), "-D".into(), "-f".into(), home.path().join("lighttpd.conf").into()];
        Self::start(port, home, &words, Vec::new())
    }

    /// nginx with this configuration of a virtual host, in which `SOCKET` stands for where
    /// its fcgiwrap listens.
    #[track_caller]
    pub(crate) fn nginx(config: &str) -> Self {
        let (nginx, fcgiwrap) = (program("nginx", "nginx-light"), program("fcgiwrap", "fcgiwrap"));
        let (home, port) = (Home::ours(), free_port());
        let wrapper = Home::ours();
        let socket = wrapper.path().join("socket");
        let config = config.replace("SOCKET", &socket.display().to_string());
        let folder = home.path().display().to_string();
        home.write(
            "nginx.conf",
            &format!(
                "daemon off;\nuser {user};\npid {folder}/pid;\nerror_log {folder}/errors;\nevents {{ }}\nhttp {{\n    access_log off;\n    client_max_body_size 64m;\n    client_body_temp_path {folder}/body;\n    fastcgi_temp_path {folder}/fastcgi;\n    proxy_temp_path {folder}/proxy;\n    uwsgi_temp_path {folder}/uwsgi;\n    scgi_temp_path {folder}/scgi;\n    server {{\n        listen 127.0.0.1:{port};\n{config}\n    }}\n}}\n",
                user = Home::user(),
            ),
        );
        let url = format!("unix:{}", socket.display());
        let words: [OsString; 6] =
            [fcgiwrap.into(), "-f".into(), "-c".into(), "8".into(), "-s".into(), url.into()];
        // One that is told to end leaves its workers behind.
        let mut fastcgi = Keeper::new(wrapper, KILL, &words);
        fastcgi.start(|_| socket.exists());
        let errors = home.path().join("errors");
        let words: [OsString; 5] = [
            nginx.into(),
            "-e".into(),
            errors.into(),
            "-c".into(),
            home.path().join("nginx.conf").into(),
        ];
        Self::start(port, home, &words, vec![fastcgi])
    }

    /// Apache with this configuration of a virtual host, with the modules that Debian's has
    /// and the one for CGI programs, and with nothing to be had but what that grants.
    #[track_caller]
    pub(crate) fn apache(config: &str) -> Self {
        let apache = program("apache2", "apache2-bin");
        let (home, port) = (Home::ours(), free_port());
        let folder = home.path().display().to_string();
        let load =
            |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        let modules = APACHE_MODULES.map(load).concat();
        home.write(
            "apache.conf",
            &format!(
                "{modules}ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/pid\nErrorLog {folder}/errors\nScriptSock {folder}/socket\n<Directory />\n    Require all denied\n</Directory>\n{config}"
            ),
        );
        let config = home.path().join("apache.conf");
        let mut words: Vec<OsString> = Vec::new();
        if geteuid().is_root() {
            // It refuses to work as root: here it is, and is called otherwise.
            words.extend(["unshare", "--map-user=1", "--map-group=1"].map(OsString::from));
        }
        words.extend([apache.into(), "-DFOREGROUND".into(), "-f".into(), config.into()]);
        Self::start(port, home, &words, Vec::new())
    }

    /// The `webhook` daemon with these hooks.
    #[track_caller]
    pub(crate) fn webhook(hooks: &str) -> Self {
        let webhook = program("webhook", "webhook");
        let (home, port) = (Home::ours(), free_port());
        home.write("hooks.json", hooks);
        let words: [OsString; 8] = [
            webhook.into(),
            "-verbose".into(),
            "-hooks".into(),
            home.path().join("hooks.json").into(),
            "-ip".into(),
            "127.0.0.1".into(),
            "-port".into(),
            port.to_string().into(),
        ];
        Self::start(port, home, &words, Vec::new())
    }

    #[track_caller]
    fn start(port: u16, home: Home, words: &[OsString], mut others: Vec<Keeper>) -> Self {
        let mut keeper = Keeper::new(home, TERM, words);
        keeper.start(|_| TcpStream::connect(("127.0.0.1", port)).is_ok());
        others.insert(0, keeper);
        Self { port, keepers: others }
    }

    /// What is found at a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The folder of the server.
    pub(crate) fn folder(&self) -> &Path {
        self.keepers[0].folder()
    }

    /// What the server and those behind it have logged.
    pub(crate) fn log(&self) -> String {
        let errors = std::fs::read_to_string(self.folder().join("errors")).unwrap_or_default();
        self.keepers.iter().map(Keeper::log).chain([errors]).collect()
    }
}
