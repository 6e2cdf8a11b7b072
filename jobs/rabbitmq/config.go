package rabbitmq

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Config says where the RabbitMQ is. Its zero value is the one of this machine, with the rights of guest.
type Config struct {
	// URL is amqp://user:password@host:port/vhost, or amqps://, with ?cacertfile=… where the server's certificate is signed by an authority
	// of one's own; then Host, Port, User, Pass and VHost do not count.
	URL   string
	Host  string // "": localhost
	Port  int    // 0: 5672
	User  string // "": guest
	Pass  string // "": guest, where User is guest
	VHost string // "": /
	// TLS is for a URL that begins with amqps. nil: the system's certificates, or those that the URL names.
	TLS *tls.Config
	// Name is what the server's page calls the connections. "": the name of the program.
	Name string
	// Logger is told of connections that broke and came back. nil: silence.
	Logger *slog.Logger
}

// FromEnv reads RABBITMQ_HOST, RABBITMQ_PORT, RABBITMQ_USER, RABBITMQ_PASS and RABBITMQ_VHOST; or RABBITMQ_URL, which tells all of it, and
// TLS. A port may be written as tcp://10.0.0.1:5672, as Kubernetes sets it for a service that is called rabbitmq.
func FromEnv() (Config, error) {
	if address := os.Getenv("RABBITMQ_URL"); address != "" {
		return Config{URL: address}, nil
	}
	c := Config{Host: os.Getenv("RABBITMQ_HOST"), User: os.Getenv("RABBITMQ_USER"), Pass: os.Getenv("RABBITMQ_PASS"), VHost: os.Getenv("RABBITMQ_VHOST")}
	text := os.Getenv("RABBITMQ_PORT")
	if text == "" {
		return c, nil
	}
	port, err := strconv.ParseUint(text[strings.LastIndexByte(text, ':')+1:], 10, 16)
	if err != nil || port == 0 {
		return c, fmt.Errorf("jobs/rabbitmq: RABBITMQ_PORT is %q; want a number from 1 to 65535", text)
	}
	c.Port = int(port)
	return c, nil
}

// url is the address with all gaps filled.
func (c *Config) url() (string, error) {
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if _, wrong := amqp.ParseURI(c.URL); err != nil || wrong != nil || u.Scheme != "amqp" && u.Scheme != "amqps" {
			return "", fmt.Errorf("the URL is not of the form amqp://user:password@host:5672/vhost, in which other signs than letters and digits are written as %%40")
		}
		return c.URL, nil
	}
	user, pass := or(c.User, "guest"), c.Pass
	if user == "guest" {
		pass = or(pass, "guest")
	}
	port := c.Port
	if port == 0 {
		port = 5672
	}
	vhost := or(c.VHost, "/")
	u := url.URL{Scheme: "amqp", User: url.UserPassword(user, pass), Host: net.JoinHostPort(or(c.Host, "localhost"), strconv.Itoa(port)),
		Path: "/" + vhost, RawPath: "/" + url.PathEscape(vhost)}
	return u.String(), nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
