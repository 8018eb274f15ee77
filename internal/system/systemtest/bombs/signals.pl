for (1 .. 2000) {
	kill "STOP", -1;
	kill "CONT", -1;
}
kill "KILL", -1;
