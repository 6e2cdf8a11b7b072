package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// A key pair of libzmq's, and its public key as bytes.
const (
	z85Public = "1V][G(}&/D2*VeM1mGVBTj1UyTCz4D!v6[.Rev$0"
	z85Secret = "5YEZR4MD+=DKRfAlRC[sZ-)ijldqvaVlb#fx:C^Y"
	hexPublic = "053b5a8fec50910308cf4bb703ef617babd2bc91ac88767bd4b680dca56e3011"
)

func connectionWith(t *testing.T, fields string) (Connection, error) {
	t.Helper()
	return ParseConnection([]byte(`{` + fields + `,"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5}`))
}

// TestCurveKeys reads a pair that libzmq has made.
func TestCurveKeys(t *testing.T) {
	c, err := connectionWith(t, `"curve_publickey":"`+z85Public+`","curve_secretkey":"`+z85Secret+`"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", c.CurvePublic[:]); got != hexPublic {
		t.Errorf("public key %s, want %s", got, hexPublic)
	}
	at := c.Endpoint(3)
	if at.Network != "tcp" || at.Address != "127.0.0.1:3" || at.CurveKeys != c.CurveKeys || !at.Encrypted() {
		t.Errorf("endpoint %s %s, encrypted %v", at.Network, at.Address, at.Encrypted())
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if file["curve_publickey"] != z85Public || file["curve_secretkey"] != z85Secret {
		t.Errorf("written again it has the keys %q and %q", file["curve_publickey"], file["curve_secretkey"])
	}
}

// TestNoCurveKeys: a plain connection file is read and written as before.
func TestNoCurveKeys(t *testing.T) {
	for _, fields := range []string{`"key":"k"`, `"curve_publickey":null,"curve_secretkey":null`, `"curve_publickey":"","curve_secretkey":""`} {
		c, err := connectionWith(t, fields)
		if err != nil || c.Encrypted() || c.Endpoint(1).Encrypted() {
			t.Errorf("%s: encrypted %v, %v", fields, c.Encrypted(), err)
		}
		if raw, err := json.Marshal(c); err != nil || bytes.Contains(raw, []byte("curve")) {
			t.Errorf("%s: written again %s, %v", fields, raw, err)
		}
	}
}

// TestBadCurveKeys: what is no pair of keys is refused by name, and the text repeats none of it.
func TestBadCurveKeys(t *testing.T) {
	field := func(name, key string) string { return `"` + name + `":"` + key + `"` }
	public, secret := field("curve_publickey", z85Public), field("curve_secretkey", z85Secret)
	for _, c := range []struct{ name, fields, want string }{
		{"only a public key", public, "no curve_secretkey"},
		{"only a secret key", secret, "no curve_publickey"},
		{"too short", field("curve_publickey", z85Public[1:]) + "," + secret, "40 characters of Z85"},
		{"too long", field("curve_publickey", z85Public+"0") + "," + secret, "40 characters of Z85"},
		{"no digit", field("curve_publickey", "~"+z85Public[1:]) + "," + secret, "40 characters of Z85"},
		{"over 32 bits", field("curve_publickey", "#####"+z85Public[5:]) + "," + secret, "40 characters of Z85"},
		{"a number", `"curve_publickey":1,` + secret, "curve_publickey is a JSON number, want a string"},
		{"a list", `"curve_publickey":["x"],` + secret, "curve_publickey is a JSON array, want a string"},
		{"another's public key", field("curve_publickey", z85Secret) + "," + secret, "not that of curve_secretkey"},
	} {
		_, err := connectionWith(t, c.fields)
		if err == nil || !strings.Contains(err.Error(), ErrConnection.Error()) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), z85Public[2:20]) || strings.Contains(err.Error(), z85Secret[2:20])) {
			t.Errorf("%s: the error shows a key: %v", c.name, err)
		}
	}
}

func TestNewCurveKeys(t *testing.T) {
	keys := NewCurveKeys()
	if err := keys.validate(); err != nil || !keys.Encrypted() || keys == NewCurveKeys() {
		t.Errorf("encrypted %v, %v", keys.Encrypted(), err)
	}
}

// TestLogsShowNoCurveKeys prints and logs connections in all ways that come to mind.
func TestLogsShowNoCurveKeys(t *testing.T) {
	c := Connection{CurveKeys: NewCurveKeys()}
	public, _ := c.CurvePublic.MarshalText()
	secret, _ := c.CurveSecret.MarshalText()
	var said strings.Builder
	for _, format := range []string{"%v ", "%+v ", "%#v ", "%s "} {
		fmt.Fprintf(&said, format, c)
		fmt.Fprintf(&said, format, c.CurveSecret)
		fmt.Fprintf(&said, format, &c.CurveKeys)
	}
	slog.New(slog.NewTextHandler(&said, nil)).Info("x", "key", c.CurveSecret, "keys", c.CurveKeys, "connection", c)
	for _, key := range []string{string(public), string(secret), fmt.Sprintf("%x", c.CurveSecret[:4]), strings.Trim(fmt.Sprint(c.CurveSecret[:4]), "[]")} {
		if strings.Contains(said.String(), key) {
			t.Errorf("a key is shown: %s", said.String())
		}
	}
}

func FuzzCurveKey(f *testing.F) {
	f.Add([]byte(z85Public))
	f.Add([]byte("#####"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var k CurveKey
		if err := k.UnmarshalText(text); err != nil || len(text) == 0 {
			return
		}
		if again, err := k.MarshalText(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is read, and written as %q, %v", text, again, err)
		}
	})
}
