// Package stats holds the estimates that tare's reports rest on. It is pure
// mathematics: the same numbers in give the same numbers out, nothing is
// random, and no result is NaN or infinite. A quantity that does not exist for
// the values given is an error that wraps one of the Err… variables.
//
// # What the intervals cover, measured
//
// The simulations in sim_test.go run 2,000 campaigns each with a true ratio of
// 1.08 (1 for the A/A rows), in random order, noise of CV 5 %, and a drift of
// 20 % with a random walk of 2 % a block that both arms share. Share of nominal
// 95 % intervals that cover the truth, and of A/A campaigns that are called
// different at 5 %:
//
//	noise                      blocks  PairedRatio  HodgesLehmann  A/A false alarms
//	Gaussian                       10       94.9 %         96.0 %             4.9 %
//	Gaussian                       20       94.7 %         95.5 %             4.1 %
//	lognormal                      10       95.5 %         94.4 %             4.2 %
//	lognormal                      20       94.5 %         95.7 %             4.1 %
//	5 % of the trials take ×3      20       97.5 %         95.2 %             2.0 %
//	Pareto, shape 2.1              20       95.3 %         95.2 %             4.3 %
//
// With heavy tails the interval of the mean still covers, because the ratios
// of two like arms are symmetric on the log scale, but it is wide: where 5 % of
// the trials take three times as long it errs on the safe side (97.5 %), and
// Hodges–Lehmann is the tighter estimate.
//
// Stein's second stage (n0 = 10, ± 2 %) covers 95.5 % (Gaussian) and 94.7 %
// (lognormal), after 66 blocks on average. All of the Anytime intervals from
// 10 to 200 blocks cover at once in 96.3 % and 95.9 %; five naive looks at
// MeanT would have called 15.6 % of A/A campaigns different. Where guests differ
// by 3 % from boot to boot (8 boots of 5 blocks), GroupedMeanT over boots
// covers 95.2 %, and MeanT over the blocks only 88.5 %.
package stats
