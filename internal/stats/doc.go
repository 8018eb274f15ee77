// Package stats holds the estimates that tare's reports rest on. It is pure
// mathematics: the same numbers in give the same numbers out, nothing is
// random, and no result is NaN or infinite. A quantity that does not exist for
// the values given is an error that wraps one of the Err… variables.
//
// # An overhead
//
// Of pairs of trials in the same block, ln of arm over baseline and of arm over
// the baseline's control, Huberize takes what lies far out; the values of a unit
// (an incarnation of a guest) are averaged, and Student's t goes over the units,
// widened by the Placebo: what the controls of the run show beyond chance. What
// goes into it is package analyze's, where whole runs are simulated.
//
// Why Huber's location of all pairs and neither the mean nor a Hodges–Lehmann
// location of each unit: half-width of the interval, and the share in which a
// cost of 5 % is claimed (50 blocks, 10 guests whose luck has sd 1 %, CV of a
// trial 5 %, 14 comparisons in a run):
//
//	trials that stall     mean            HL of each unit   Huber
//	none                  2.3 %, 95 %     2.3 %, 94 %       2.3 %, 93 %
//	5 % of them take ×3   9.8 %,  1 %     5.7 %, 38 %       2.7 %, 80 %
//	2 % take ×2           4.4 %, 19 %     2.9 %, 77 %       2.5 %, 90 %
//	1 % take ×5           6.1 %, 19 %     2.8 %, 88 %       2.4 %, 93 %
//
// A unit of five blocks has no use for a robust location of its own when two of
// them stall, and one of two or three has none at all. It is of the pairs and not
// of ln x - ½(ln y + ln c), because a pair of like arms is symmetric whatever its
// tails: robust locations of the latter are biased by up to -1 %.
//
// # What else is measured (sim_test.go)
//
// All of the Anytime intervals from 10 to 200 blocks cover at once in 96.3 %
// (Gaussian) and 95.9 % (lognormal); five naive looks at MeanT would have called
// 15.6 % of A/A campaigns different. Steady promises 1 % of false alarms: it
// gives 0.7 % at most on independent values and 1.5 % at most where neighbours correlate
// by 0.4. QuantileInterval's of the 95th percentile of 150 values covers in 96 %.
package stats
