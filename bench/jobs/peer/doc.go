// Command peer measures jobs that do nothing beside Celery's: how many a second, and how long one takes from its submission to its result,
// with 1, 100 and 1,000 in flight. Both go over the same RabbitMQ, in turns; ours also over the broker that is embedded. What it says is
// that of a machine on which nothing else runs.
//
//	make bench-jobs
package main
