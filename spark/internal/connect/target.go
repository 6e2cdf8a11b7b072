package connect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Target says which server is spoken to, as whom, and in which session. Host is required; what Parse gives is complete but for UserID and SessionID.
// Printing a Target shows neither the token nor the values of headers.
type Target struct {
	// Host is a name or an address, an IPv6 address without brackets.
	Host string
	// Port is the server's, default 15002.
	Port int
	// TLS encrypts. A token without TLS is sent readable by everyone on the way.
	TLS bool
	// CAFile is a PEM file of the authorities that are trusted, instead of the system's. It needs TLS.
	CAFile string
	// Token is sent as a bearer with every call.
	Token string
	// UserID is whom the server takes this for, default the system's user. A session belongs to its user.
	UserID string
	// SessionID is a UUID, default a new one. With that of an existing session of the user one goes on in it.
	SessionID string
	// UserAgent stands before our own name in what the server's log says of its clients.
	UserAgent string
	// Headers are sent with every call; names are lower-case. Databricks finds a cluster by x-databricks-cluster-id.
	Headers map[string]string
	// MaxMessage is how many bytes a message of either direction may have, default 128 MiB, as in Spark.
	MaxMessage int
	// Patience is how long a server may be away, or say nothing, before a call fails, default 8 s.
	Patience time.Duration
}

const (
	// DefaultPort is where a Spark Connect server listens unless it is told otherwise.
	DefaultPort = 15002

	defaultMaxMessage = 128 << 20
	defaultPatience   = 8 * time.Second
	leastPatience     = 20 * time.Millisecond
)

// Parse reads a connection string in the form of Spark's clients, sc://host:port/;key=value;key=value. Values may be percent-encoded. The keys are
// token, use_ssl (true, false), user_id, session_id (a UUID), user_agent and grpc_max_message_size (bytes), and two of ours: ca, a file of trusted
// authorities, and patience, a duration such as 30s. Any other key is a header, which has no cases of letters. A token, or ca, means TLS. A token does not if use_ssl=false is said,
// or if the host is this machine: there Spark's own servers ask for a token without TLS. An error names the part that is wrong, but shows no value
// that may be secret.
func Parse(text string) (Target, error) {
	rest, ok := strings.CutPrefix(text, "sc://")
	if !ok {
		return Target{}, errors.New("spark: the address does not begin with sc://; write sc://host:15002, with /;token=… behind it where a token is needed")
	}
	place, params, _ := strings.Cut(rest, "/")
	t := Target{Port: DefaultPort}
	if err := t.place(place); err != nil {
		return Target{}, err
	}
	if params != "" && !strings.HasPrefix(params, ";") {
		return Target{}, errors.New("spark: there is a path behind the address; settings follow there: sc://host:15002/;key=value;key=value")
	}
	said, err := t.params(strings.TrimPrefix(params, ";"))
	if err != nil {
		return Target{}, err
	}
	if said["use_ssl"] == "" {
		t.TLS = t.CAFile != "" || t.Token != "" && !loopback(t.Host)
	}
	return t, t.validate()
}

// place reads host:port.
func (t *Target) place(text string) error {
	if strings.ContainsAny(text, ";=") {
		return errors.New("spark: settings follow directly on the address; put / between: sc://host:15002/;key=value")
	}
	if strings.Contains(text, "@") {
		return errors.New("spark: there is an @ in the address, which has no place for a user; write sc://host:15002/;user_id=name;token=…")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil { // no port
		host, port = strings.Trim(text, "[]"), ""
		if strings.Contains(host, ":") && !strings.HasPrefix(text, "[") {
			return fmt.Errorf("spark: %q is not host:port; an IPv6 address stands in brackets: sc://[::1]:15002", text)
		}
	}
	if host == "" || strings.ContainsAny(host, " \t\n?#[]") {
		return fmt.Errorf("spark: %q has no host that could be looked up; write sc://host:15002", text)
	}
	t.Host = host
	if port == "" {
		return nil
	}
	if t.Port, err = strconv.Atoi(port); err != nil || t.Port < 1 || t.Port > 65535 {
		return fmt.Errorf("spark: port %q is not a number from 1 to 65535; a Spark Connect server listens on 15002 by default", port)
	}
	return nil
}

// params reads key=value;key=value, and returns what was said.
func (t *Target) params(text string) (map[string]string, error) {
	said := map[string]string{}
	for i, part := range strings.Split(text, ";") {
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" || value == "" { // the part itself may be a token
			return nil, fmt.Errorf("spark: setting %d behind /; is not key=value; in a value a ; is written %%3B", i+1)
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("spark: the value of %s has a %% that is followed by no two hexadecimal digits; write %%25 for one", key)
		}
		if _, twice := said[key]; twice {
			return nil, fmt.Errorf("spark: %s is set twice; leave one", key)
		}
		said[key] = value
		if err := t.set(key, value); err != nil {
			return nil, err
		}
	}
	return said, nil
}

func (t *Target) set(key, value string) (err error) {
	switch key {
	case "token":
		t.Token = value
	case "user_id":
		t.UserID = value
	case "session_id":
		t.SessionID = value
	case "user_agent":
		t.UserAgent = value
	case "ca":
		t.CAFile = value
	case "use_ssl":
		if value != "true" && value != "false" {
			return fmt.Errorf("spark: use_ssl is %q; write true or false", value)
		}
		t.TLS = value == "true"
	case "grpc_max_message_size":
		if t.MaxMessage, err = strconv.Atoi(value); err != nil || t.MaxMessage < 1 {
			return fmt.Errorf("spark: grpc_max_message_size is %q; write a number of bytes", value)
		}
	case "patience":
		if t.Patience, err = time.ParseDuration(value); err != nil || t.Patience <= 0 {
			return fmt.Errorf("spark: patience is %q; write a duration such as 30s", value)
		}
	default:
		return t.header(key, value)
	}
	return nil
}

// header takes what is no key of ours. One that is in other cases of letters would be a header: a token sent readable, or use_ssl that encrypts nothing.
func (t *Target) header(key, value string) error {
	name := strings.ToLower(key)
	if slices.Contains(keys(), name) {
		return fmt.Errorf("spark: %s is written %s", key, name)
	}
	if _, twice := t.Headers[name]; twice {
		return fmt.Errorf("spark: the header %s is set twice; leave one", name)
	}
	if t.Headers == nil {
		t.Headers = map[string]string{}
	}
	t.Headers[name] = value
	return nil
}

// loopback tells whether a host is this machine by its name.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// fill completes a target for a session.
func (t *Target) fill() {
	t.Port = cmp.Or(t.Port, DefaultPort)
	t.MaxMessage = cmp.Or(t.MaxMessage, defaultMaxMessage)
	t.Patience = max(cmp.Or(t.Patience, defaultPatience), leastPatience)
	t.SessionID = cmp.Or(t.SessionID, newUUID())
	if t.UserID == "" {
		t.UserID = "cancha"
		if u, err := user.Current(); err == nil {
			t.UserID = u.Username
		}
	}
}

func (t *Target) validate() error {
	switch {
	case t.Host == "":
		return errors.New("spark: no host; set Host, or use Parse")
	case t.CAFile != "" && !t.TLS:
		return errors.New("spark: ca names authorities, but use_ssl=false leaves TLS out; leave out one of them")
	case t.SessionID != "" && !isUUID(t.SessionID):
		return fmt.Errorf("spark: session_id %q is not a UUID; write one of the form 00112233-4455-6677-8899-aabbccddeeff, or leave it out", t.SessionID)
	case !printable(t.Token):
		return errors.New("spark: the token has characters that a header cannot carry (a line's end?); copy it again")
	case t.Patience < 0 || t.MaxMessage < 0:
		return errors.New("spark: patience and the size of messages are 0, for the default, or more")
	}
	if t.CAFile != "" {
		if _, err := os.Stat(t.CAFile); err != nil {
			return fmt.Errorf("spark: ca: %w; name a PEM file of the authority that signed the server's certificate", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if !headerName(name) || !printable(t.Headers[name]) {
			return fmt.Errorf("spark: %q is no setting of this client (%s) and cannot be a header; see its name and value", name, strings.Join(keys(), ", "))
		}
	}
	return nil
}

func keys() []string {
	return []string{"token", "use_ssl", "user_id", "session_id", "user_agent", "grpc_max_message_size", "ca", "patience"}
}

// headerName tells whether a name can be a header's, and is none of those that the protocol or this client sets.
func headerName(name string) bool {
	taken := []string{"authorization", "user-agent", "content-type", "te", "host", "connection"}
	if name == "" || slices.Contains(taken, name) || strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
}

func printable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// address is host:port.
func (t *Target) address() string {
	return net.JoinHostPort(t.Host, strconv.Itoa(cmp.Or(t.Port, DefaultPort)))
}

// clientType is how the server's log names this client.
func (t *Target) clientType() string {
	return strings.TrimSpace(fmt.Sprintf("%s cancha go/%s os/%s", t.UserAgent, strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS))
}

// String is the connection string, with … for what may be secret.
func (t Target) String() string {
	text := "sc://" + t.address() + "/"
	add := func(key, value string) {
		if value != "" {
			text += ";" + key + "=" + value
		}
	}
	add("use_ssl", strconv.FormatBool(t.TLS))
	add("ca", t.CAFile)
	add("user_id", t.UserID)
	add("session_id", t.SessionID)
	if t.Token != "" {
		add("token", "…")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		add(name, "…")
	}
	return text
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (t Target) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.String()) }
