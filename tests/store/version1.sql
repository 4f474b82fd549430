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
INSERT INTO "events" VALUES(1,1794976806349236,'bemps label','add-class',NULL,0,'bug',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(2,1794976806360855,'bemps label','add-class',NULL,1,'wish',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(3,1794976806365936,'source','label','a2',1,'wish',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(4,1794976806450141,'ann','label','a1',0,'bug',NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(5,1794976806450141,'bob','label','a3',1,'wish',NULL,'odd',NULL,NULL);
INSERT INTO "events" VALUES(6,1794976806450141,'ann','skip','a4',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES(7,1794976806456697,'ann','undo','a4',NULL,NULL,NULL,NULL,6,NULL);
CREATE TABLE items (
	position INTEGER NOT NULL,
	id TEXT NOT NULL,
	content TEXT NOT NULL,
	label TEXT,
	PRIMARY KEY (position),
	UNIQUE (id)
);
INSERT INTO "items" VALUES(0,'a1','It crashes',NULL);
INSERT INTO "items" VALUES(1,'a2','Please add a mode','wish');
INSERT INTO "items" VALUES(2,'a3','It crashes',NULL);
INSERT INTO "items" VALUES(3,'a4','Where is it?',NULL);
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
INSERT INTO "project" VALUES('version','1');
INSERT INTO "project" VALUES('created','2026-11-18T04:40:06.333902+00:00');
CREATE TABLE settings (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('kind','"text"');
INSERT INTO "settings" VALUES('title','"tickets"');
INSERT INTO "settings" VALUES('folder','"/data"');
INSERT INTO "settings" VALUES('id','"a0dba8c4fd84432aad0d8712d92b70d3"');
INSERT INTO "settings" VALUES('stamp','["/data/tickets.csv", 115, 1794976806281516908, [["id", "nr"], ["label", "topic"], ["text", "body"]]]');
INSERT INTO "settings" VALUES('audit_share','0.0');
INSERT INTO "settings" VALUES('overlap_share','0.0');
INSERT INTO "settings" VALUES('model','"tfidf"');
INSERT INTO "settings" VALUES('no_model','false');
INSERT INTO "settings" VALUES('stop_below','0.001');
INSERT INTO "settings" VALUES('seed','0');
CREATE UNIQUE INDEX events_by_request ON events (annotator, request);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
