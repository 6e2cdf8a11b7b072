// Package placement decides on which worker a job runs, by predicted time, and says why in words. It ends at the decision: it has no clock,
// no goroutine and no queue, so that whoever schedules jobs asks it and a test can. Times are seconds, as float64: a foreign job may ask
// for 10^26 of them, which no [time.Duration] holds.
//
// Six questions, each in its files:
//
//   - What is there to do? [Work], in operations and bytes (work.go).
//   - How long does it take there? [Rates] are what a device can do (cost.go); [History] is how much longer work really took, as exponentially
//     weighted mean and variance (average.go), kept as JSON (measured.go). Both together are a [Prediction] (prediction.go), and [Accuracy] tells how
//     good predictions were (accuracy.go).
//   - Where does it end first? A [Planner] places all jobs that wait at once (planner.go), by a search for the schedule that ends first (search.go).
//   - Or where a program of one's own wants it? [Strategy] (strategy.go).
//   - Why there? [Decision.Reason] (reason.go).
//   - How much is waiting for which device? [Demand], for autoscaling (demand.go).
//
// The rules of a decision, in their order:
//
//   - A worker is asked only if it takes work, runs the job's type, is of the device that the job orders, and has the memory.
//   - Jobs of higher priority are placed first, and others around them; on one worker the short ones of a priority go first. Waiting raises it.
//   - A job goes where queued work, transfer and run end first, as StarPU's scheduler dmda ("deque model data aware") places tasks:
//     Augonnet, Thibault, Namyst and Wacrenier, StarPU: a unified platform for task scheduling on heterogeneous multicore architectures,
//     2011. Jobs that wait together are placed together: one by one where each ends first, as HEFT does (Topcuoglu, Hariri and Wu, 2002),
//     and then moved and exchanged as long as all of them end sooner. So a job may be left to a slower device whose time is free, and the
//     faster one kept for those that gain more by it.
//   - Between devices that are as good, within the hysteresis, the job's wish for a GPU decides.
//   - What was given to a worker and has not begun moves to another only if it, or all together, ends sooner by more than the hysteresis: a
//     move costs messages.
//   - Of workers whose devices are called the same, one that turns out slower is predicted so (pace.go). What has run far longer than
//     predicted is taken to go on for as long again, and has jobs of its type predicted as late there: so none waits behind it for ever.
//   - A few jobs (2 %) go where nothing is known of their kind, if little can be lost by it: a device that the costs speak ill of would
//     never be tried.
//
// What a worker is given is little: one job ahead, or work for a quarter of a second. All else stays with the scheduler, where it can still
// go elsewhere when a worker stalls or joins. Package simulate plays a load against workers on a clock of its own, and compares.
package placement
