package store

// EventCachesDropped says that tare dropped the caches of the whole host, and for what.
const EventCachesDropped = "caches-dropped"

// EventCachesKept says what a polite run left in the caches of the host, so that a step did not read it from the disk.
const EventCachesKept = "caches-kept"

// EventPaused says for how long a polite run paused, and why. The text before the first space is a number of seconds.
const EventPaused = "paused"
