package connect_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cancha/spark/internal/connect"
)

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, which does not contain %q", text, part)
		}
	}
}

func ExampleParse() {
	t, err := connect.Parse("sc://adb-1.azuredatabricks.net:443/;token=dapi-secret;x-databricks-cluster-id=1103-2")
	fmt.Println(t, err)
	// Output: sc://adb-1.azuredatabricks.net:443/;use_ssl=true;token=…;x-databricks-cluster-id=… <nil>
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want connect.Target
	}{
		{"sc://spark", connect.Target{Host: "spark", Port: 15002}},
		{"sc://spark/", connect.Target{Host: "spark", Port: 15002}},
		{"sc://spark:443/;", connect.Target{Host: "spark", Port: 443}},
		{"sc://[::1]:15003", connect.Target{Host: "::1", Port: 15003}},
		{"sc://[::1]", connect.Target{Host: "::1", Port: 15002}},
		{"sc://spark/;use_ssl=true", connect.Target{Host: "spark", Port: 15002, TLS: true}},
		{"sc://spark/;token=a%3Db%3B%2B", connect.Target{Host: "spark", Port: 15002, TLS: true, Token: "a=b;+"}},
		{"sc://spark/;token=dG9rZW4=", connect.Target{Host: "spark", Port: 15002, TLS: true, Token: "dG9rZW4="}},
		{"sc://spark/;token=x;use_ssl=false", connect.Target{Host: "spark", Port: 15002, Token: "x"}},
		{"sc://127.0.0.1/;token=x", connect.Target{Host: "127.0.0.1", Port: 15002, Token: "x"}},
		{"sc://localhost/;token=x;use_ssl=true", connect.Target{Host: "localhost", Port: 15002, TLS: true, Token: "x"}},
		{"sc://spark/;user_id=ana;user_agent=nb;session_id=00112233-4455-6677-8899-aabbccddeeff;patience=30s;grpc_max_message_size=1024", connect.Target{
			Host: "spark", Port: 15002, UserID: "ana", UserAgent: "nb", SessionID: "00112233-4455-6677-8899-aabbccddeeff", Patience: 30 * time.Second, MaxMessage: 1024}},
		{"sc://h/;X-Databricks-Cluster-Id=1;a=b", connect.Target{Host: "h", Port: 15002, Headers: map[string]string{"x-databricks-cluster-id": "1", "a": "b"}}},
	} {
		got, err := connect.Parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.text, got, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "sc://host:15002"},
		{"spark://h:7077", "does not begin with sc://"},
		{"sc://", "no host"},
		{"sc://:15002", "no host"},
		{"sc://a b", "no host"},
		{"sc://h:0", `port "0"`},
		{"sc://h:spark", `port "spark"`},
		{"sc://::1", "in brackets"},
		{"sc://ana@h", "user_id=name"},
		{"sc://h;token=secret", "put / between"},
		{"sc://h/path", "a path behind the address"},
		{"sc://h/;secret", "setting 1"},
		{"sc://h/;a=b;secret", "setting 2"},
		{"sc://h/;token=%zz", "the value of token"},
		{"sc://h/;token=a;token=b", "token is set twice"},
		{"sc://h/;Token=secret", "Token is written token"},
		{"sc://h/;use_SSL=true", "use_SSL is written use_ssl"},
		{"sc://h/;x-key=secret;X-Key=secret", "the header x-key is set twice"},
		{"sc://h/;token=secret%0A", "the token has characters"},
		{"sc://h/;use_ssl=yes", `"yes"; write true or false`},
		{"sc://h/;session_id=1", "is not a UUID"},
		{"sc://h/;patience=soon", "a duration such as 30s"},
		{"sc://h/;patience=-1s", "a duration such as 30s"},
		{"sc://h/;grpc_max_message_size=big", "a number of bytes"},
		{"sc://h/;ca=/no/such/file.pem", "a PEM file"},
		{"sc://h/;ca=/dev/null;use_ssl=false", "leaves TLS out"},
		{"sc://h/;authorization=secret", `"authorization" is no setting`},
		{"sc://h/;grpc-timeout=1", `"grpc-timeout" is no setting`},
		{"sc://h/;x=sec%0Aret", `"x" is no setting`},
	} {
		_, err := connect.Parse(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "spark: ") {
			t.Errorf("%s: got %v, want an error of spark with %q", test.text, err, test.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a secret: %v", test.text, err)
		}
	}
}

// TestSecrets: no way to print a target shows what is secret.
func TestSecrets(t *testing.T) {
	at, err := connect.Parse("sc://h/;token=secret;x-key=secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		for _, value := range []any{at, &at, []connect.Target{at}, struct{ T connect.Target }{at}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "secret") || !strings.Contains(text, "token=…") {
				t.Errorf("%s: got %s", verb, text)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("sc://h:1/;token=x;use_ssl=false")
	f.Add("sc://[::1]/;a=%41")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := connect.Parse(text)
		if err != nil && !strings.HasPrefix(err.Error(), "spark: ") {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && (at.Host == "" || at.Port < 1 || at.Port > 65535) {
			t.Errorf("%q: %v", text, at)
		}
	})
}
