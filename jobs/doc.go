// Package jobs runs work as jobs: each is put down before it is begun, goes to the CPU or the GPU by predicted time, is tried again when a
// worker dies, and can be looked up, cancelled and replayed. A notebook opens the jobs of its machine, or those of a RabbitMQ that others share:
//
//	c, err := jobs.Open(ctx, jobs.Config{})
//	id, err := c.Submit(ctx, jobs.Spec{Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": 2000}.JSON()})
//	r, err := c.Wait(ctx, id)
//
// A function of the notebook runs as jobs, too, here and in parallel:
//
//	sums, err := jobs.Map(ctx, c, files, func(ctx context.Context, name string) (float64, error) { … })
//
// The package is the front door; what is behind it are rooms of their own: job says what a job is, queue what carries them (local, rabbitmq), store
// and scheduler see each to its end, placement decides where it goes, worker and operation run it.
package jobs
