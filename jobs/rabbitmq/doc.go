// Package rabbitmq is a queue.Broker on a RabbitMQ, and the one door to its client, amqp091-go. It carries messages as package queue
// promises, and ends there: it knows no jobs, and manages no server.
//
//	config, err := rabbitmq.FromEnv() // RABBITMQ_HOST, _PORT, _USER, _PASS, _VHOST
//	b, err := rabbitmq.Dial(ctx, config)
//
// # How it works
//
// A Broker has two connections, each of which comes back by itself (link): one that publishes, declares and asks, and one that consumes and
// acknowledges. A server whose memory or disk is full reads no more from a connection that publishes; what settles messages, and so makes
// room, goes on.
//
// All that is published goes through one channel with confirmations (outlet); the messages of one call go out one after the other, and then
// all confirmations are waited for. Each carries a number in the header x-cancha-mark, by which a message that comes back for want of its
// queue is known. If the connection breaks first, those without a confirmation are published again.
//
// Each consumer has a channel of its own, and a new one when that breaks (consumer). What was in hand is then lost to who has it.
//
// Queues that are new are classic ones before RabbitMQ 4, and quorum queues from then on (declare). A queue that is there is used as it is,
// and what differs is read from the server's refusals to declare it otherwise, one by one. The first message for a queue that was made here
// waits for 4 s (young): a server that is killed before may have lost it, whatever it has confirmed.
//
// A message that Retry keeps away waits in a queue beside its own, cancha.later.NAME. Each consumer of NAME has those in view, 1,000 at
// most, and sends home what is due (later). Nothing is left to the server's times to live and dead letters: a server that is killed while
// messages expire loses them.
//
// All topics share one exchange, cancha.topics: a message's routing key is its topic (topic). An exchange for each would stay behind for each worker
// that ever was; deleted by the server with its last listener, it would take announcements along that go to others through the same channel.
//
// A lock is a queue that is exclusive to the connection that consumes (lock). When that breaks, the next one is nobody's until the lock is
// there again, or is another one's for three heartbeats, after which a server has forgotten the connection before.
//
// # What a RabbitMQ does otherwise
//
// A delivery that was on its way to a consumer that ended counts, though nobody has seen it; after a server was killed, each message of a
// classic queue counts once more. MaxDeliveries is kept by consumers of a Broker that has declared the queue.
//
// A message that was refused is published again, behind those of its caller that were not; a quorum queue refuses the first one it gets, if
// any, so that goes alone.
//
// A delivery that is not settled within the server's consumer_timeout, 30 minutes unless it is set otherwise, is taken back, with all that
// the consumer has: it is ErrLost, and comes again. Before 3.12, and for classic queues, that is the server's setting, or from 3.12 on a
// policy (consumer-timeout). Package scheduler lets nothing run twice for it.
//
// Messages that were on their way when an alarm of memory or disk began wait until it ends; later ones are ErrFull.
package rabbitmq
