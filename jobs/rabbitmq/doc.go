// Package rabbitmq is a queue.Broker on a RabbitMQ, and the one door to its client, amqp091-go. It carries messages as package queue promises, and ends
// there: it knows no jobs, and manages no server.
//
//	config, err := rabbitmq.FromEnv() // RABBITMQ_HOST, _PORT, _USER, _PASS, _VHOST
//	b, err := rabbitmq.Dial(ctx, config)
//
// # How it works
//
// A Broker has two connections, each of which comes back by itself (link): one that publishes, declares and asks, and one that consumes and acknowledges.
// A server whose memory or disk is full reads no more from a connection that publishes; what settles messages, and so makes room, goes on.
//
// All that is published goes through one channel with confirmations (outlet); the messages of one call go out one after the other, and then all
// confirmations are waited for. Each carries a number in the header x-cancha-mark, by which a message that comes back for want of its queue is known. If
// the connection breaks first, those without a confirmation are published again.
//
// Each consumer has a channel of its own, and a new one when that breaks (consumer). What was in hand is then lost to who has it.
//
// Queues that are new are quorum queues; with Spec.Priorities, before RabbitMQ 4.3, classic ones. A queue that is there is used as it is, and what differs is
// read from the server's refusals to declare it otherwise, one by one (declare).
//
// A message that Retry keeps away waits in a queue beside its own, of which each message expires after the same time, and goes home as a dead letter
// (ladder): cancha.retry.1s.NAME, and so on by powers of two. They are made when they are needed, and expire.
//
// All topics share one exchange, cancha.topics: a message's routing key is its topic (topic). An exchange for each would stay behind for each worker
// that ever was; deleted by the server with its last listener, it would take announcements along that go to others through the same channel.
//
// # What a RabbitMQ does not promise
//
// A classic queue does not count deliveries; it only tells that there was one. So after the death of processes Delivery.Count is 2 there, however many
// died, and MaxDeliveries is kept for what Retry brings back alone. A server before 3.12 takes a delivery back that is not settled within 30
// minutes, unless its consumer_timeout says otherwise; from then on it is ErrLost, and the message comes again.
package rabbitmq
