-- Content that may be kept without a file that has it: marked before it is written, and with the removal of
-- rows; unmarked when the rows were asked, and the content removed where there is none.
CREATE TABLE file_suspects (
    environment integer NOT NULL,
    sha256      bytea   NOT NULL,
    marks       integer NOT NULL DEFAULT 1, -- raised by each further mark: who asked before it must ask again
    PRIMARY KEY (environment, sha256)
) WITH (fillfactor = 50);
