-- A store of schema version 2, as doubletap wrote it: the dump of its tables, and
-- what the file's header said. Never to be changed; a newer schema gets a file of
-- its own. tests/contract/sqlite_v2.rs loads it.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1684173936;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES(1,1700000064006);
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
, tie TEXT, parent INTEGER) STRICT;
INSERT INTO attempt VALUES(1700000000000,'once','default','done',1,'done',X'fefffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'01000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5060000,1700000000000,1700000000000,0,NULL,NULL,1234,13,1,1731536000000,1,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000001000,'once','default','wrapped',1,'running',X'fdfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'02000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,'group',4711,123456,4000,4026531836,0,60000,5061000,1700000001000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000001001,'step','fdfffffff8f8f8f8f8f8f8f8f8f8f8f8','it''s "a" step',1,'done',X'fcfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'03000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5061000,1700000001000,1700000001000,0,NULL,NULL,1234,13,0,NULL,0,NULL,NULL,1700000001000);
INSERT INTO attempt VALUES(1700000001002,'step','fdfffffff8f8f8f8f8f8f8f8f8f8f8f8','running',1,'running',X'fbfffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'04000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5061000,1700000001000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1700000001000);
INSERT INTO attempt VALUES(1700000002000,'once','default','for a process',1,'running',X'fafffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'05000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,0,5002000,1700000002000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'process',NULL);
INSERT INTO attempt VALUES(1700000002001,'step','fafffffff8f8f8f8f8f8f8f8f8f8f8f8','it''s "a" step',1,'failed',X'f9fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'06000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5062000,1700000002000,1700000002000,3,NULL,NULL,1234,13,0,NULL,0,NULL,NULL,1700000002000);
INSERT INTO attempt VALUES(1700000003000,'once','default','for a time',1,'interrupted',X'f8fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'07000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5063000,1700000003000,1700000063000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,'time',NULL);
INSERT INTO attempt VALUES(1700000063000,'once','default','for a time',2,'running',X'f8fffffff8f8f8f8f8f8f8f8f8f8f8f8',2,0,X'08000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5123000,1700000063000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'time',NULL);
INSERT INTO attempt VALUES(1700000064000,'once','default','for both',1,'running',X'f6fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'09000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'both',NULL);
INSERT INTO attempt VALUES(1700000064001,'once','default','failed',1,'failed',X'f5fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'0a000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,1700000064000,3,NULL,'it''s late',1234,NULL,NULL,NULL,0,91464000,'time',NULL);
INSERT INTO attempt VALUES(1700000064002,'once','default','empty',1,'done',X'f4fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'0b000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,1700000064000,0,NULL,NULL,1234,0,0,NULL,0,NULL,'time',NULL);
INSERT INTO attempt VALUES(1700000064003,'once','default','forgotten',1,'done',X'f3fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'0c000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,-2,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,1700000064000,0,NULL,NULL,1234,NULL,NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000064004,'once','default','forgotten',2,'forgotten',X'99dcbf74c4b9f772a459eede745d4021',0,0,X'99dcbf74c4b9f772a459eede745d4021','[]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,1,60000,5124000,1700000064000,1700000064000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(1700000064005,'lease','default','name',1,'released',X'f2fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'0d000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,1700000064000,NULL,NULL,NULL,1234,NULL,NULL,NULL,0,5124000,'both',NULL);
INSERT INTO attempt VALUES(1700000064006,'lease','default','name',2,'running',X'f1fffffff8f8f8f8f8f8f8f8f8f8f8f8',1,0,X'0e000000070707070707070707070707','[["argv","0101010101010101010101010101010101010101010101010101010101010101"],["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]]','./deploy "it" 100%',3,'host.example','boot-1',4194304,-1,4026531836,NULL,NULL,NULL,NULL,NULL,NULL,0,60000,5124000,1700000064000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,5124000,'time',NULL);
CREATE TABLE output (
    fence INTEGER PRIMARY KEY,
    frames BLOB NOT NULL
) STRICT;
INSERT INTO output VALUES(1700000000000,X'010600000068656c6c6f0a00ff');
INSERT INTO output VALUES(1700000001001,X'69742773202261222073746570');
INSERT INTO output VALUES(1700000002001,X'69742773202261222073746570');
INSERT INTO output VALUES(1700000064002,X'');
CREATE UNIQUE INDEX attempt_chain ON attempt (kind, namespace, key, generation);
CREATE INDEX attempt_tied ON attempt (token) WHERE tie IS NOT NULL;
COMMIT;
