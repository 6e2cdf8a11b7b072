package lastwill

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// The pace of an executor: a server may be busy, or on its way up again.
const (
	patience  = 30 * time.Second
	firstWait = 100 * time.Millisecond
	longest   = 2 * time.Second
	tryLimit  = 10 * time.Second
)

// Execute reads the wills of another process until in ends, which says that the process has ended, and carries out those that were not taken
// back, side by side, for half a minute at most. The error says which servers could not be told; their files stay.
func Execute(ctx context.Context, in io.Reader) error {
	wills := map[string]Will{}
	for orders := json.NewDecoder(in); ; {
		var o order
		if err := orders.Decode(&o); err != nil { // the end, or half an order of one who was killed while he wrote it
			break
		}
		if o.Will != nil {
			wills[o.Key] = *o.Will
		} else {
			delete(wills, o.Key)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	failures := make([]error, len(wills))
	var all sync.WaitGroup
	i := 0
	for _, w := range wills {
		at := &failures[i]
		i++
		all.Go(func() { *at = w.carryOut(ctx) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// carryOut makes the call, again where that may help, and removes the file.
func (w Will) carryOut(ctx context.Context) error {
	client, err := w.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for wait := firstWait; ; wait = min(2*wait, longest) {
		again, err := w.call(ctx, client)
		if err == nil {
			return w.forget()
		}
		if !again {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (w Will) forget() error {
	if w.File == "" {
		return nil
	}
	if err := os.Remove(w.File); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have been faster
		return fmt.Errorf("lastwill: %w", err)
	}
	return nil
}

// client speaks HTTP/2, as gRPC does, over TLS or not. With TLS the environment's proxy is used.
func (w Will) client() (*http.Client, error) {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	if !strings.HasPrefix(w.URL, "https://") {
		return &http.Client{Transport: t}, nil
	}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Proxy = http.ProxyFromEnvironment
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if w.CAFile == "" {
		return &http.Client{Transport: t}, nil
	}
	pem, err := os.ReadFile(w.CAFile)
	if err != nil {
		return nil, fmt.Errorf("lastwill: authorities: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("lastwill: authorities: %s has no certificate in PEM form", w.CAFile)
	}
	return &http.Client{Transport: t}, nil
}

// call makes the call once (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). again tells of an error that may pass.
func (w Will) call(ctx context.Context, client *http.Client) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(w.Message))) // not compressed
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(append(body, w.Message...)))
	if err != nil {
		return false, err
	}
	for name, value := range w.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := client.Do(request)
	if err != nil {
		return true, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil { // the trailer comes behind it
		return true, err
	}
	return w.outcome(response)
}

const unavailable = "14" // gRPC's code

func (w Will) outcome(r *http.Response) (again bool, err error) {
	code, text := r.Trailer.Get("Grpc-Status"), r.Trailer.Get("Grpc-Message")
	if code == "" { // a response without a message has it in its header
		code, text = r.Header.Get("Grpc-Status"), r.Header.Get("Grpc-Message")
	}
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	switch {
	case code == "0":
		return false, nil
	case code == "":
		return r.StatusCode >= 500, fmt.Errorf("lastwill: %s answers as no server of gRPC: %s", r.Request.URL.Host, r.Status)
	}
	for _, gone := range w.Gone {
		if strings.Contains(text, gone) {
			return false, nil
		}
	}
	return code == unavailable, fmt.Errorf("lastwill: %s refuses: code %s, %s", r.Request.URL.Host, code, text)
}
