-- A store of schema version 1, as doubletap 0.1.0 wrote it: the dump of its
-- tables, and what the file's header said. Never to be changed; a newer schema
-- gets a file of its own. tests/contract/sqlite_file.rs loads it.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1684173936;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES(1,1700000066000);
CREATE TABLE attempt (
    fence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    state TEXT NOT NULL,
    operation BLOB NOT NULL,
    number INTEGER NOT NULL,
    rerun INTEGER NOT NULL,
    token BLOB NOT NULL,
    fingerprint TEXT NOT NULL,
    command TEXT NOT NULL,
    command_words INTEGER NOT NULL,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_start INTEGER NOT NULL,
    pid_namespace INTEGER NOT NULL,
    lock_inode INTEGER,
    group_reach TEXT,
    group_id INTEGER,
    group_start INTEGER,
    group_session INTEGER,
    group_namespace INTEGER,
    emptied INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    until_boot_ms INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    run_ms INTEGER,
    output_bytes INTEGER,
    truncated INTEGER,
    expires_ms INTEGER,
    promised INTEGER,
    retry_boot_ms INTEGER
) STRICT;
INSERT INTO attempt VALUES(1700000000000,'once','default','done',1,'done',X'fefffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'01000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5060000,1700000000000,1700000001000,0,NULL,NULL,1234,13,1,1731536001000,1,NULL);
INSERT INTO attempt VALUES(1700000002000,'once','default','running',1,'running',X'fdfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'02000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,'group',4711,123456,4000,4026531836,0,60000,5062000,1700000002000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000003000,'once','default','failed',1,'failed',X'fcfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'03000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5063000,1700000003000,1700000004000,NULL,9,'it''s late',1234,6,0,NULL,0,NULL);
INSERT INTO attempt VALUES(1700000004000,'once','default','it''s 100% "é"',1,'interrupted',X'fbfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'04000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5064000,1700000004000,1700000064000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO attempt VALUES(1700000064000,'once','default','it''s 100% "é"',2,'running',X'fbfffffff8f8f8f8f8f8f8f8f8f8f8f8',2,0,X'05000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000065000,'once','default','forgotten',1,'done',X'f9fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'06000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5125000,1700000065000,1700000065000,0,NULL,NULL,1234,NULL,NULL,NULL,0,NULL);
INSERT INTO attempt VALUES(1700000066000,'once','default','forgotten',2,'forgotten',X'b8f502597af49d9d34bc60a3997b118b',0,0,X'b8f502597af49d9d34bc60a3997b118b','[]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,1,60000,5125000,1700000066000,1700000066000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE output (
    fence INTEGER PRIMARY KEY,
    frames BLOB NOT NULL
) STRICT;
INSERT INTO output VALUES(1700000000000,X'010600000068656c6c6f0a00ff');
INSERT INTO output VALUES(1700000003000,X'6661696c6564');
CREATE UNIQUE INDEX attempt_chain ON attempt (kind, namespace, key, generation);
COMMIT;
