// Package stats contains the estimators behind tare's reports. It is pure: the
// same input gives the same result, nothing is random, and no result is NaN or
// infinite. If a quantity does not exist for the given values, the error wraps
// one of the Err… variables.
//
// # An overhead
//
// The data are pairs of trials in the same block: ln of arm over baseline and of
// arm over the baseline's control. Huberize limits the influence of outliers. The
// values of a unit (a guest) are averaged, and a Student's t interval is computed
// over the units. The Placebo widens it by what the controls of the run show
// beyond chance. Package analyze chooses the data, and its tests simulate whole
// runs.
//
// Huber's location of all pairs was chosen over the mean and over a
// Hodges–Lehmann location of each unit because of the half-width of the interval
// and the share of runs that claim a cost of 5 % (50 blocks, 10 guests that differ
// with sd 1 %, CV of a trial 5 %, 14 comparisons in a run):
//
//	trials that stall     mean            HL of each unit   Huber
//	none                  2.3 %, 95 %     2.3 %, 94 %       2.3 %, 93 %
//	5 % of them take ×3   9.8 %,  1 %     5.7 %, 38 %       2.7 %, 80 %
//	2 % take ×2           4.4 %, 19 %     2.9 %, 77 %       2.5 %, 90 %
//	1 % take ×5           6.1 %, 19 %     2.8 %, 88 %       2.4 %, 93 %
//
// A robust location of a unit of five blocks does not help if two of them stall,
// and a unit of two or three blocks has none. The location is that of the pairs
// and not of ln x - ½(ln y + ln c): a pair of identical arms has a symmetric
// distribution whatever its tails, while robust locations of the latter are
// biased by up to -1 %.
//
// # Other simulations (sim_test.go)
//
// The Anytime intervals from 10 to 200 blocks cover simultaneously in 96.3 %
// (Gaussian) and 95.9 % (lognormal) of campaigns; five naive looks at MeanT would
// find a difference in 15.6 % of A/A campaigns. Steady has a nominal false alarm
// rate of 1 %; in simulations it is at most 0.7 % for independent values, and at
// most 1.5 % if successive values correlate by 0.4. QuantileInterval of the 95th
// percentile of 150 values covers in 96 %.
package stats
