// Package queue is the seam between jobs and what carries them: durable queues of messages, each of which is handed out at least once, and
// topics whose messages reach all who listen. It knows nothing of jobs, and ends at what any broker can promise: jobs/local keeps it in a
// file, jobs/rabbitmq has a RabbitMQ do it. The suite in jobs/jobstest holds both to it.
//
//	_, err := broker.Declare(ctx, queue.Spec{Name: "gpu_queue", MaxDeliveries: 5})
//	err = broker.Publish(ctx, "gpu_queue", queue.Message{ID: "job-1", Body: body}) // nil: it is on the disk
//	consumer, err := broker.Consume(ctx, "gpu_queue", 1)
//	for {
//		d, err := consumer.Next(ctx)
//		…
//		err = d.Ack(ctx) // or d.Retry(ctx, time.Minute), or d.Dead(ctx, "no such operation")
//	}
//
// # What is promised
//
// Publish returns nil when the message is durable: it outlives the death of any process at any moment. An error says that it was not taken
// (ErrUnknownQueue, ErrTooLarge, ErrInvalid, ErrFull), or leaves it open, where the context ended while the broker worked: the message may
// be there. Who publishes again after such an error may have it there twice. A broker over a network does so itself, when a connection
// breaks before the confirmation.
//
// A message is handed out at least once, until somebody has settled it: by Ack it is done, by Retry it comes again later, by Dead it goes to the
// dead letters. It comes again, too, when its consumer is closed, or its process dies, before that. So what a message causes has to be harmless
// twice; Message.ID is there to tell. Ack tells the broker; an Ack that was on its way when a process, a connection or the broker died may be lost,
// and the message comes again.
//
// Messages that one caller has published one after the other, in one queue, are handed out in that order, those of a higher priority first where
// Spec.Priorities asks for it. What has been handed out is not overtaken, and the place at which a message stands that comes again is not promised.
//
// Delivery.Count tells how often a message has been handed out, this time included. It counts each Retry exactly. After the death of a
// process it may lack deliveries that the broker could not note, or have one more, of a message that was on its way to who died; but it is
// never 1 for a message that somebody may have begun with. A message that would be handed out more often than Spec.MaxDeliveries goes to
// the dead letters instead, with ReasonLimit: a job that kills its worker does not go on killing. A broker may find that out when somebody
// consumes the queue; who does has declared it, with the same Spec.
//
// A dead letter is an ordinary message of the queue that Spec.Dead names, with a Death that tells where it comes from, why, and after how many
// deliveries. Who replays it publishes it to Death.Queue and settles it here.
//
// Retry keeps a message away for the time that was asked for, at least, and for twice that and a second at most, while the broker runs.
//
// What is announced on a topic reaches those who listen at that moment, once, in the order of each announcer. Nothing of it is kept: a listener
// whose connection is away, or who is a thousand messages behind, misses some.
//
// A broker that goes away and comes back is no error: Publish and Next wait for it as long as their contexts allow, and what they return
// then tells what was wrong. Deliveries that were in hand come again elsewhere: settling them is ErrLost.
//
// All methods may be called at the same time. After Close they return ErrClosed.
//
// # What this means on RabbitMQ
//
// The seam is cut so that AMQP 0-9-1 fills it with what it has. An implementation is expected to work as follows.
//
//   - Publish: a channel with publisher confirms, persistent, mandatory, to the default exchange. A message that returns (312 NO_ROUTE) is
//     ErrUnknownQueue; the return comes before its confirmation. Negative confirmations for some seconds (a queue that rejects when full;
//     one without a leader does so for a moment), and connection.blocked (an alarm of memory or disk), are ErrFull. Check comes first: a
//     body above the server's limit closes the channel, and with it what others have in flight.
//   - Declare: passively first, on a channel of its own, since a missing queue closes it. What is there is used as it is (arguments cannot
//     be changed); declaring with the arguments then tells in a 406 where they differ, which is a note. A new queue is a quorum queue from
//     RabbitMQ 4 on, and a classic one before; one that is Shared has no arguments at all, its type neither: it is a classic one, or of the
//     vhost's default_queue_type. x-expires is Expires; MaxLength is x-max-length with drop-head; Priorities is x-max-priority, which
//     quorum queues have from 4.3 on. A server that is killed within seconds may forget a queue: nothing is published to it before.
//   - Consume: a channel for each consumer, with basic.qos prefetch, global false. Stop is basic.cancel, and a nack with requeue for what was
//     fetched and not asked for; Close closes the channel, which returns the rest. When the server cancels the consumer, its queue is gone.
//   - Count: x-delivery-count + 1 on quorum queues. A classic queue only tells that a message comes again: where there is a limit, it is
//     published once more with its count, which nobody else sees.
//   - Limits and dead letters are seen to by who reads, by publishing and acknowledging: the server's own way loses messages (at most once), or ends
//     with a fault after a restart of 3.10 (at least once). x-death of a foreign queue's dead letter is a Death, too.
//   - Retry: after 0 a nack with requeue where the queue counts; else the message is published, and acknowledged when that is confirmed: to
//     its queue, or to one beside it, in which consumers see to it that it goes home when it is due. A crash between both leaves the
//     message twice. Clocks count: who retries and who brings back may be two machines.
//   - Dead: published to the dead letters with headers for the Death, then acknowledged.
//   - Topics: one direct exchange, durable, whose routing keys are the topics, and an exclusive queue for each listener. Nothing stays of a topic.
//   - Lock: a queue that is exclusive to the connection that consumes, and goes with it; 405 RESOURCE_LOCKED is ErrHeld.
//   - Foreign messages: header values that are no text become text, tables and names that begin with "x-" are left out of Message.Headers,
//     texts that are no UTF-8 are mended. Retry and Dead pass on what was there.
//   - A server takes a delivery back that is not settled for 30 minutes (consumer_timeout), and with it all that its channel has:
//     x-consumer-timeout, which quorum queues have from 3.12 on, puts it off; elsewhere the server's setting or a policy does. It is
//     ErrLost where it happens, and the message comes again.
package queue
