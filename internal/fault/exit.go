package fault

// The exit statuses of tare, which `tare --help` lists. Fleets read those of the runs on their machines.
const (
	ExitOK         = 0
	ExitInternal   = 1 // a defect in tare
	ExitCampaign   = 2 // wrong flags, campaign or run file
	ExitHost       = 3 // the host cannot do it: permissions, tools, space
	ExitIncomplete = 4 // interrupted; the run can be shown and resumed
	ExitFailed     = 5 // complete, but some trials failed in their guests
	ExitOtherBoot  = 7 // the run continues in another boot of the host
)
