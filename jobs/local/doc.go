// Package local is a queue.Broker in a file, for the processes of one machine: nothing is to be installed, and what Publish has confirmed
// is on the disk. It ends at the machine: queues that several machines share are RabbitMQ's business (jobs/rabbitmq).
//
// One process opens the folder and holds it (hold); the system releases it when that process ends, however it does. Others reach the broker
// by Serve and Dial, over a Unix socket or loopback, and have the same interface. The socket is its user's alone, and where the system
// tells (Linux) both sides look who the other one is. The path of a folder may be long, relative, or a link; that it stays the same one is
// seen to.
//
//	b, err := local.Open("jobs", local.Options{}) // in the process that has the scheduler
//	s, err := local.Serve(b, local.Socket("jobs"), "")
//
//	b, err := local.Dial(ctx, local.Socket("jobs"), "") // in a worker
//
// # How it works
//
// The file has the messages, how often each has been handed out, and until when Retry keeps it away (file, record). In memory there is an
// index of them without their bodies: what is ready, delayed, in hand (line). All changes of the file go through one goroutine, which
// writes those that are waiting in one transaction, with one fsync for all, and takes them into the index when they are on the disk
// (commit, changes). So a change costs a few milliseconds alone, and with many in flight a fraction of that.
//
// Ack, too, returns when it is on the disk, which is more than package queue asks for: a message whose Ack has returned nil never comes
// again. That a message has been handed out is noted without waiting. So if the process is killed within the milliseconds that follow, and
// only then, Count lacks it.
//
// What was in hand when the process died is ready when the folder is opened again. A process that is reached by Dial and dies gives back what it had
// at once, since the system closes its connection.
//
// A message that waits takes 55 bytes of memory, besides its place in the file. A million of 400 bytes (500 MB of file) were opened in a
// second, and the file took the next ones without growing when they were done; a change took 4.7 ms then instead of 3.3, since each writes
// down which pages are free.
//
// A commit that fails leaves open what of it is on the disk. So the file is opened anew then, and a number in it tells (file). Where the
// disk is full, those who publish get queue.ErrFull; settling goes on, since it makes room. Where the file or its folder was moved or
// removed meanwhile, all that is to be written is an error, until it is there again: nobody would look into it. A file that was cut short,
// or has pages that are not its own, is an error. A message has a checksum, and is a dead letter if it is damaged; bbolt's own pages have
// none.
package local
