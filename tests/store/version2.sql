CREATE TABLE events (
	seq INTEGER NOT NULL,
	time BIGINT NOT NULL,
	annotator TEXT NOT NULL,
	kind TEXT NOT NULL,
	item TEXT,
	class_id INTEGER,
	label TEXT,
	previous TEXT,
	note TEXT,
	target INTEGER,
	request TEXT,
	PRIMARY KEY (seq)
);
INSERT INTO "events" VALUES(1,1795006682695804,'bemps label','add-class',NULL,0,'bug',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(2,1795006682699890,'bemps label','add-class',NULL,1,'wish',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(3,1795006682702728,'source','label','a2',1,'wish',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(4,1795006682716936,'ann','label','a1',0,'bug',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(5,1795006682717917,'bob','label','a2',1,'wish',NULL,'odd',NULL,NULL);
INSERT INTO "events" VALUES(6,1795006682722147,'ann','skip','a4',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(7,1795006682741129,'ann','undo','a4',NULL,NULL,NULL,NULL,6,NULL);
CREATE TABLE items (
	position INTEGER NOT NULL,
	id TEXT NOT NULL,
	content TEXT NOT NULL,
	label TEXT,
	other_columns TEXT,
	copy_of TEXT,
	PRIMARY KEY (position),
	UNIQUE (id)
);
INSERT INTO "items" VALUES(0,'a1','It crashes',NULL,NULL,NULL);
INSERT INTO "items" VALUES(1,'a2','Please add a mode','wish',NULL,NULL);
INSERT INTO "items" VALUES(2,'a3','It crashes',NULL,NULL,'a1');
INSERT INTO "items" VALUES(3,'a4','Where is it?',NULL,NULL,NULL);
CREATE TABLE leases (
	item TEXT NOT NULL,
	annotator TEXT NOT NULL,
	expires BIGINT NOT NULL,
	PRIMARY KEY (item, annotator)
);
CREATE TABLE project (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO "project" VALUES('format','bemps project');
INSERT INTO "project" VALUES('version','2');
INSERT INTO "project" VALUES('created','2026-11-18T12:58:02.684017+00:00');
CREATE TABLE settings (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('title','"tickets"');
CREATE UNIQUE INDEX events_by_request ON events (annotator, request);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

