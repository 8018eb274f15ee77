-- A run of tare is one file of this form. Rows are only ever added.
-- Times named *_ns are nanoseconds; *_unix_ns count from 1970, others are a
-- CLOCK_MONOTONIC: the host's or the guest's, as the name says.

-- What was there before the first trial, as JSON or text: run, campaign
-- (resolved), campaign_yaml (as written), environment, systems, userland.
CREATE TABLE document (
    name TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- Each time that tare worked on this run, first or resumed.
CREATE TABLE session (
    id             INTEGER PRIMARY KEY,
    began_unix_ns  INTEGER NOT NULL,
    boot_id        TEXT NOT NULL, -- of the host
    version        TEXT NOT NULL  -- of tare
) STRICT;

-- How each session ended, unless it was killed.
CREATE TABLE session_end (
    session       INTEGER PRIMARY KEY REFERENCES session,
    ended_unix_ns INTEGER NOT NULL,
    reason        TEXT NOT NULL
) STRICT;

CREATE TABLE arm (
    id       INTEGER PRIMARY KEY, -- position in the plan, from 0
    name     TEXT NOT NULL UNIQUE,
    system   TEXT NOT NULL,
    flavor   TEXT NOT NULL,       -- JSON: name and sizes
    scenario TEXT NOT NULL,
    control  TEXT NOT NULL,       -- name of the arm that it is the same as; '': not a control
    emulated INTEGER NOT NULL
) STRICT;

CREATE TABLE metric (
    id        INTEGER PRIMARY KEY, -- from 0
    workload  TEXT NOT NULL,
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    better    TEXT NOT NULL,       -- lower or higher; '' for a probe
    is_first  INTEGER NOT NULL,    -- the workload's primary metric
    is_probe  INTEGER NOT NULL,    -- what the host saw, not what the workload reports
    UNIQUE (workload, name, is_probe)
) STRICT;

-- The amount of work of one trial, found by calibration or given.
CREATE TABLE size (
    workload    TEXT PRIMARY KEY,
    size        INTEGER NOT NULL,
    unit        TEXT NOT NULL,
    calibration TEXT NOT NULL -- JSON: what was tried; 'null': given by the campaign
) STRICT;

-- Every guest that was made.
CREATE TABLE guest (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES session,
    arm          INTEGER NOT NULL REFERENCES arm,
    epoch        INTEGER NOT NULL, -- the generation
    made_unix_ns INTEGER NOT NULL,
    start_ns     INTEGER NOT NULL, -- until its agent answered
    hello        TEXT NOT NULL,    -- JSON: what it says of itself
    command_line TEXT NOT NULL     -- JSON: of its runtime or VMM
) STRICT;

-- The journal: a row before every trial …
CREATE TABLE attempt (
    id            INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL REFERENCES session,
    guest         INTEGER REFERENCES guest, -- NULL: it did not start
    block         INTEGER NOT NULL, -- from 0
    position      INTEGER NOT NULL, -- in the block
    workload      TEXT NOT NULL,
    arm           INTEGER NOT NULL REFERENCES arm,
    epoch         INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    began_unix_ns INTEGER NOT NULL
) STRICT;

-- … and one after it. An attempt without an outcome was interrupted, and is
-- made again on resume.
CREATE TABLE outcome (
    attempt       INTEGER PRIMARY KEY REFERENCES attempt,
    status        TEXT NOT NULL, -- done; failed: the guest's fault, a result; void: the host's, made again
    error         TEXT NOT NULL, -- why not done
    ended_unix_ns INTEGER NOT NULL,
    offset_ns     INTEGER NOT NULL, -- guest's CLOCK_MONOTONIC less the host's, before the trial
    delay_ns      INTEGER NOT NULL, -- round trip of the exchange that gave it
    log           TEXT NOT NULL     -- end of the guest's log, when it failed
) STRICT;

-- The commands of a trial, raw.
CREATE TABLE step (
    attempt             INTEGER NOT NULL REFERENCES attempt,
    position            INTEGER NOT NULL,
    name                TEXT NOT NULL,
    timed               INTEGER NOT NULL,
    argv                TEXT NOT NULL, -- JSON
    stdout              BLOB NOT NULL,
    stderr              BLOB NOT NULL,
    stdout_bytes        INTEGER NOT NULL, -- produced; more than is kept: it was cut
    stderr_bytes        INTEGER NOT NULL,
    exit_code           INTEGER NOT NULL,
    signal              INTEGER NOT NULL, -- 0: it exited by itself
    timed_out           INTEGER NOT NULL,
    host_start_ns       INTEGER NOT NULL,
    host_end_ns         INTEGER NOT NULL,
    guest_start_ns      INTEGER NOT NULL,
    guest_end_ns        INTEGER NOT NULL,
    guest_start_unix_ns INTEGER NOT NULL,
    guest_end_unix_ns   INTEGER NOT NULL,
    rusage              TEXT NOT NULL, -- JSON, as the guest says
    PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

-- Metrics and probes of a trial.
CREATE TABLE value (
    attempt INTEGER NOT NULL REFERENCES attempt,
    metric  INTEGER NOT NULL REFERENCES metric,
    value   REAL NOT NULL,
    PRIMARY KEY (attempt, metric)
) STRICT, WITHOUT ROWID;

-- What else happened to the host, as it was noticed.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session,
    attempt INTEGER,        -- during which trial, if any
    at_unix_ns INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL
) STRICT;
