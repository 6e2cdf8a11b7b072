package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// diagnosisInterval is how long after a diagnosis there is no other: many loops lose the same broker at once.
const diagnosisInterval = 2 * time.Second

// diagnose looks for the cause of err where the broker gives none: who speaks without TLS to a TLS port, or without a user to
// a port that wants one, sees no more than its connection close, and so does who speaks TLS to a plain port. It returns the
// cause if it finds one that cannot pass, or else err. Diagnosing takes new connections to the brokers, which are asked what
// both kinds of port answer differently; nothing is taken for a cause that a broker on its way down or up could look like.
func (c *cluster) diagnose(ctx context.Context, err error) error {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return refused // without the steps that it has come through: it says it all
	}
	var (
		away *net.OpError
		told kafka.Error
	)
	if err == nil || hopeless(err) || errors.As(err, &told) || errors.As(err, &away) && away.Op == "dial" || !c.mayDiagnose() {
		return err
	}
	for _, broker := range c.brokers {
		if cause := c.examine(ctx, broker); cause != nil {
			return cause
		}
	}
	return err
}

func (c *cluster) mayDiagnose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.diagnosed) < diagnosisInterval {
		return false
	}
	c.diagnosed = time.Now()
	return true
}

// examine returns why a broker cannot be talked to, nil if that is not known.
func (c *cluster) examine(ctx context.Context, broker string) error {
	conn, err := c.dial(ctx, "tcp", broker)
	for hung := (*hungUp)(nil); errors.As(err, &hung); {
		conn, err = c.dial(ctx, "tcp", broker) // until it lets us in, is away, or refuses
	}
	if err != nil {
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			return refused
		}
		if c.sec.TLS != nil && c.probe(ctx, broker, answersPlainly) == nil {
			return &refusal{broker, "does not speak TLS on this port", adviceNoTLS, nil}
		}
		if c.sec.TLS == nil && c.sec.User != "" { // it was dialled, and did not answer the first request
			return c.encrypted(ctx, broker)
		}
		return nil
	}
	known, err := talk(ctx, conn)
	conn.Close()
	switch alert := (*net.OpError)(nil); {
	case err == nil || ctx.Err() != nil:
		return nil
	case c.sec.TLS != nil && errors.As(err, &alert) && alert.Op == "remote error":
		return refusedByTLS(broker, err)
	case c.sec.TLS == nil:
		if cause := c.encrypted(ctx, broker); cause != nil {
			return cause
		}
	}
	if c.sec.User == "" && known && c.turnedAway(ctx, broker) {
		return c.wantsUser(ctx, broker)
	}
	return nil
}

// turnedAway tells whether a broker says who it is and no more, also when it is asked again: one that goes down does so once.
func (c *cluster) turnedAway(ctx context.Context, broker string) bool {
	for range hangUps - 1 {
		conn, err := c.dial(ctx, "tcp", broker)
		if err != nil {
			return false
		}
		known, err := talk(ctx, conn)
		conn.Close()
		if err == nil || !known {
			return false
		}
	}
	return ctx.Err() == nil
}

// talk asks what every client may ask that a broker lets in. It is known to be Kafka if it has answered the first question,
// which it does for everybody.
func talk(ctx context.Context, conn net.Conn) (known bool, err error) {
	if err := answersPlainly(ctx, conn); err != nil {
		return false, err
	}
	defer untilDone(ctx, conn)()
	request := kmsg.NewPtrMetadataRequest()
	request.Version, request.Topics = 1, []kmsg.MetadataRequestTopic{} // none
	_, err = exchange(conn, request)
	return true, err
}

// answersPlainly asks what every broker answers, also one that first wants a user.
func answersPlainly(ctx context.Context, conn net.Conn) error {
	defer untilDone(ctx, conn)()
	_, err := exchange(conn, kmsg.NewPtrApiVersionsRequest())
	return err
}

// probe asks something on a connection of its own that is not secured.
func (c *cluster) probe(ctx context.Context, broker string, ask func(context.Context, net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.conns.tcp(ctx, "tcp", broker)
	if err != nil {
		return err
	}
	defer conn.Close()
	return ask(ctx, conn)
}

// encrypted tells whether a port that has not answered plain words answers TLS.
func (c *cluster) encrypted(ctx context.Context, broker string) error {
	speaks := false
	c.probe(ctx, broker, func(ctx context.Context, conn net.Conn) error {
		host, _, _ := net.SplitHostPort(broker)
		// Nothing is sent over this connection: it only shows whether there is a certificate.
		return tls.Client(conn, &tls.Config{ServerName: host, InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
			speaks = true
			return nil
		}}).HandshakeContext(ctx)
	})
	if speaks {
		return &refusal{broker, "speaks only TLS on this port", adviceTLS, nil}
	}
	return nil
}

// wantsUser tells whether a broker that does not let everybody in has SASL mechanisms to offer.
func (c *cluster) wantsUser(ctx context.Context, broker string) error {
	conn, err := c.dial(ctx, "tcp", broker)
	if err != nil {
		return nil
	}
	defer conn.Close()
	defer untilDone(ctx, conn)()
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, "?" // none: the answer lists what there is
	response, err := exchange(conn, hello)
	if err != nil {
		return nil
	}
	offered := response.(*kmsg.SASLHandshakeResponse).SupportedMechanisms
	if len(offered) == 0 {
		return nil
	}
	return &refusal{broker, "wants a user", fmt.Sprintf("set Security.User, Password and Mechanism (KAFKA_USER, KAFKA_PASSWORD, KAFKA_SASL_MECHANISM); it takes %v", offered), nil}
}
