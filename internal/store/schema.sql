-- A run of tare is one file with this schema. Rows are only ever added.
-- Times named *_ns are in nanoseconds: *_unix_ns since 1970, others by
-- CLOCK_MONOTONIC of the host or the guest, as the name says, or durations.

-- What was known before the first trial, as JSON or text: campaign
-- (resolved), campaign_yaml (as written), environment, systems, userland.
CREATE TABLE document (
    name TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- Each session of tare on this run, the first one and resumed ones.
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
    name     TEXT NOT NULL UNIQUE, -- with the scenario, unless that is solo: lxc@four
    system   TEXT NOT NULL,
    flavor   TEXT NOT NULL,       -- JSON: name and sizes
    scenario TEXT NOT NULL,
    control  TEXT NOT NULL,       -- name of the arm of which it is the A/A control; '': not a control
    emulated INTEGER NOT NULL
) STRICT;

CREATE TABLE metric (
    id        INTEGER PRIMARY KEY, -- from 0
    workload  TEXT NOT NULL,
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    better    TEXT NOT NULL,       -- lower or higher; '' for a probe
    is_first  INTEGER NOT NULL,    -- the workload's primary metric
    is_probe  INTEGER NOT NULL,    -- measured by the host, not reported by the workload
    UNIQUE (workload, name, is_probe)
) STRICT;

-- The amount of work of one trial, found by calibration or given.
CREATE TABLE size (
    workload    TEXT PRIMARY KEY,
    size        INTEGER NOT NULL,
    unit        TEXT NOT NULL,
    calibration TEXT NOT NULL -- JSON: sizes that were tried; 'null': given by the campaign
) STRICT;

-- Every guest that was created.
CREATE TABLE guest (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES session,
    arm          INTEGER NOT NULL REFERENCES arm, -- the first that it takes part in
    epoch        INTEGER NOT NULL, -- the generation: counts the re-creations of the arm's guests
    made_unix_ns INTEGER NOT NULL,
    start_ns     INTEGER NOT NULL, -- until its agent answered
    hello        TEXT NOT NULL,    -- JSON: what its agent reported
    command_line TEXT NOT NULL,    -- JSON: of its runtime or VMM
    -- since format 2:
    flavor       TEXT NOT NULL DEFAULT '', -- JSON: name, sizes and confinement, and the system if it is not the arm's; '': the arm's
    slot         INTEGER NOT NULL DEFAULT 0, -- among the guests of this arm, flavor and role, from 0
    neighbour    INTEGER NOT NULL DEFAULT 0  -- it only disturbs others
) STRICT;

-- Measurements of a guest outside of trials, such as its memory when idle.
-- Since format 2.
CREATE TABLE guest_value (
    guest      INTEGER NOT NULL REFERENCES guest,
    name       TEXT NOT NULL,
    unit       TEXT NOT NULL,
    value      REAL NOT NULL,
    at_unix_ns INTEGER NOT NULL,
    PRIMARY KEY (guest, name)
) STRICT, WITHOUT ROWID;

-- The passes through the workloads, each written before it begins: which arms
-- run which block of which workload, in which order. A resumed run first makes
-- the trials of them that are not done. A run with boots has no passes, since
-- its order follows from its seed. Since format 3.
CREATE TABLE pass (
    number INTEGER PRIMARY KEY, -- from 0
    body   TEXT NOT NULL        -- JSON
) STRICT;

-- The journal: one row before every trial, for each guest that takes part …
CREATE TABLE attempt (
    id            INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL REFERENCES session,
    guest         INTEGER REFERENCES guest, -- NULL: it did not start
    block         INTEGER NOT NULL, -- of the workload, from 0; those of duets are counted apart
    position      INTEGER NOT NULL, -- in the group of trials of this block, from 0; before format 3, among those of all workloads
    workload      TEXT NOT NULL,
    arm           INTEGER NOT NULL REFERENCES arm,
    epoch         INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    began_unix_ns INTEGER NOT NULL,
    -- since format 2:
    member        INTEGER NOT NULL DEFAULT 0, -- among the guests of the trial, from 0
    stress        TEXT NOT NULL DEFAULT ''    -- resource that this member loads, serving or answering; '': it runs the workload
) STRICT;

-- … and one after it, for all members in one transaction. An attempt without an outcome was interrupted; a
-- resumed run makes the trial again.
CREATE TABLE outcome (
    attempt       INTEGER PRIMARY KEY REFERENCES attempt,
    status        TEXT NOT NULL, -- done; failed: the guest's fault, a result; void: the host's fault, repeated;
                                 -- since format 3: discarded: a warm-up; repeat: made right after the same trial, without a freeze in between;
                                 -- since format 5: duet: made at once with other arms
    error         TEXT NOT NULL, -- why not done
    ended_unix_ns INTEGER NOT NULL,
    offset_ns     INTEGER NOT NULL, -- guest's CLOCK_MONOTONIC minus the host's, before the trial
    delay_ns      INTEGER NOT NULL, -- round trip of the exchange that it is from
    log           TEXT NOT NULL     -- end of the guest's log, when it failed
) STRICT;

-- The commands of a trial, with their raw output.
CREATE TABLE step (
    attempt             INTEGER NOT NULL REFERENCES attempt,
    position            INTEGER NOT NULL,
    name                TEXT NOT NULL,
    timed               INTEGER NOT NULL,
    argv                TEXT NOT NULL, -- JSON
    stdout              BLOB NOT NULL,
    stderr              BLOB NOT NULL,
    stdout_bytes        INTEGER NOT NULL, -- produced; if more than stored, the output was cut
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
    rusage              TEXT NOT NULL, -- JSON, as reported by the guest
    PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

-- Metrics and probes of a trial.
CREATE TABLE value (
    attempt INTEGER NOT NULL REFERENCES attempt,
    metric  INTEGER NOT NULL REFERENCES metric,
    value   REAL NOT NULL,
    PRIMARY KEY (attempt, metric)
) STRICT, WITHOUT ROWID;

-- The single latencies of a trial, in nanoseconds: HdrHistogram's compressed
-- encoding, version 2, in base64. Since format 4.
CREATE TABLE latency (
    attempt   INTEGER PRIMARY KEY REFERENCES attempt,
    metric    INTEGER NOT NULL REFERENCES metric, -- which describes them with one number
    histogram BLOB NOT NULL
) STRICT;

-- Other events on the host, in the order in which tare noticed them.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session,
    attempt INTEGER,        -- trial during which it happened, if any
    at_unix_ns INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL
) STRICT;
