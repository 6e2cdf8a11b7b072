package connect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// advice is what to do about an error of Spark's; "" if that is not known.
func advice(class, state, text string) string {
	starts := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if class == p || strings.HasPrefix(class, p+".") {
				return true
			}
		}
		return false
	}
	switch {
	case starts(sessionChanged), starts(sessionUnknown):
		return "the server was started anew, or the session was idle for too long: its views, models and queries are gone; connect again"
	case starts(sessionClosed):
		return "the session was released, or idle for too long: connect again, without session_id in the address or with a new one: a server takes each once"
	case starts(operationUnknown):
		return "the server has lost the operation and what it had not yet sent: run it again"
	case starts("OPERATION_CANCELED"):
		return "it was interrupted: by another cell, the page or a limit of the server; run it again"
	case starts("CONNECT_ML.CACHE_INVALID", "CONNECT_ML.CACHE_ITEM_EXCEEDED", "CONNECT_ML.MODEL_SIZE_OVERFLOW_EXCEPTION"):
		return "a server keeps fitted models for a while only: write the model to a path after the fit, and read it from there"
	case strings.Contains(text, "Failed to find data source: kafka"):
		return "start the server with Spark's connector for Kafka: --packages org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION"
	case starts("TABLE_OR_VIEW_NOT_FOUND"):
		return "a temporary view belongs to the session that made it"
	case starts("AMBIGUOUS_REFERENCE"):
		return "give the sides of a join names by As and say which one is meant, a.id = b.id; or join by JoinUsing, which keeps one of each column that it names"
	case starts("CANNOT_MODIFY_CONFIG"):
		return "only the server's start can set it: --conf KEY=VALUE"
	case starts("PATH_NOT_FOUND") && state == "42K03":
		return "the path is one of the cluster's, not of this machine: use storage that both reach"
	}
	return ""
}

// unanswered says what is known of a call that has no error of Spark's, and what to do.
func (c *Client) unanswered(s *status.Status) (text, todo string) {
	at, text := c.target.address(), s.Message()
	if m := wrapped.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	switch s.Code() {
	case codes.Unauthenticated:
		return at + " does not know the token, or wants one: " + text, "write it behind the address: sc://" + at + "/;token=TOKEN"
	case codes.PermissionDenied:
		return at + " does not let this user in: " + text, "see the token, user_id, and the rights of that user there"
	case codes.Unimplemented:
		return at + " is not a Spark Connect server, or one that is too old: " + text, "see the port, which is 15002 unless the server was told otherwise"
	case codes.ResourceExhausted:
		return "a message is too large: " + text, "send or ask for less at once, or raise grpc_max_message_size here and " +
			"spark.connect.grpc.maxInboundMessageSize there"
	case codes.Canceled:
		if strings.Contains(text, "client connection is closing") { // by Close
			return "the session was closed", "connect again"
		}
	case codes.Unavailable:
		return at + " cannot be reached: " + text, c.unreachable(text)
	}
	return text, advice("", "", text) // the server has done it, and has no class for what went wrong
}

func (c *Client) unreachable(text string) string {
	switch {
	case strings.Contains(text, "handshake failed"):
		return "the other side broke the TLS handshake off: see whether it speaks TLS, or say use_ssl=false"
	case strings.Contains(text, "server preface"): // the other side speaks something else
		return "see whether the server wants TLS, use_ssl=true, and whether it is a Spark Connect server"
	case strings.Contains(text, "lookup "):
		return "see the name of the host"
	case strings.Contains(text, "reading from server"), strings.Contains(text, "connection reset"), strings.Contains(text, "broken pipe"),
		strings.Contains(text, "connection refused") && c.version != "": // it has answered before
		return "the server was there and has gone: see its log; what ran there is lost, and so are views and models; connect again when it is back"
	}
	return "see whether a Spark Connect server runs there, and listens on that port and not on its own loopback alone"
}

// silence is what to do about a server that answers nothing; where it is asked for the result of an operation, that may be a proxy's fault.
func silence(err error) string {
	if errors.Is(err, errNothing) {
		return "see its log, and whether a proxy between cuts answers off; what ran there may still run"
	}
	return "see host and port, whether a firewall is between, and whether the driver is alive there; what ran there may still run"
}

// distrust is what to do about a TLS handshake that failed for good.
func (c *Client) distrust(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return "if its certificate is by an authority of yours, name that one's PEM file: ;ca=/path/ca.pem"
	case errors.As(err, &name):
		return "use the name that is in its certificate"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew its certificate, or set this machine's clock"
	case errors.As(err, &plain):
		return "the server does not speak TLS: say use_ssl=false, and keep in mind that a token is then readable on the way"
	}
	return "see the server's certificate, and ca"
}
