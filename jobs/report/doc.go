// Package report measures how jobs have ended: a GPU against a CPU by job type, throughput over time, predicted against measured time. It
// reads and writes results as lines of JSON, a line each, in the contract's form (what a consumer of result_queue reads), and makes of them
// texts, tables and figures. It asks nobody, and knows no scheduler.
//
//	j, err := report.OpenJournal("results.jsonl", each)     // append, without doubles
//	all, err := report.ReadFile("results.jsonl")            // or read what is there
//	err = report.Write("report", all.Records, "results.jsonl")
//
// # Definitions
//
// All times are seconds that an attempt ran on its worker (execution_time), of completed jobs alone, and of those that ran: one that was
// answered with the result of a job before it of the same key (same_as) has no time. A mean is arithmetic. A percentile is
// the value at the place p·(n-1) of the n sorted values, from 0, with linear interpolation between two neighbours: Hyndman and Fan's type 7
// (The American Statistician 50, 1996), which is NumPy's and Excel's. The speed-up of a type is the CPU's mean divided by the GPU's. Since
// placement gives large jobs to the GPU and small ones to the CPU, that compares different work; the speed-up at the same work is the
// geometric mean of the ratios of means over those pieces of work that both have run. Throughput is completed jobs that ran divided by the time
// from the first begin to the last end. How far predictions are off is exp(mean |ln(measured / predicted)|), 1 being perfect and 2 twice or
// half; their bias is exp(mean ln(measured / predicted)), above 1 where jobs take longer than predicted.
package report
