package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// refusal is an answer that sending the same request again will not change.
type refusal struct {
	code    int // HTTP status; 0 when that is not the reason
	message string
}

func (r *refusal) Error() string { return r.message }

// busy is a failure that trying again may change.
type busy struct {
	message string
	wait    time.Duration // that the server asks for
}

func (b *busy) Error() string { return b.message }

// server is an HTTP server that gets the requests of one provider.
type server struct {
	base   *url.URL // without a slash at its end
	key    string
	client http.Client
}

// connect checks an address and finds the key for it.
func connect(provider string, o *Options, address, keyEnv string) (*server, error) {
	if o.URL == "" {
		o.URL = address
		if o.KeyEnv == "" {
			o.KeyEnv = keyEnv // another server gets this key only when told so
		}
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the URL of the %s server must look like https://host/path", provider) // not shown: it may hold a password
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the URL of the %s server %s must not hold a password, a query or a fragment: put the key into an environment variable and name that", provider, base.Host)
	}
	s := &server{base: base}
	base.Path = strings.TrimRight(base.Path, "/")
	if o.KeyEnv != "" {
		s.key = strings.TrimSpace(os.Getenv(o.KeyEnv))
		if s.key == "" {
			return nil, fmt.Errorf("the key for %s is missing: set the environment variable %s", base.Host, o.KeyEnv)
		}
		if strings.ContainsFunc(s.key, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return nil, fmt.Errorf("the key in the environment variable %s is not one line of plain characters", o.KeyEnv)
		}
	}
	if s.key != "" && base.Scheme == "http" && !loopback(base.Hostname()) {
		return nil, fmt.Errorf("the server %s would get the key unencrypted: use https", base.Host)
	}
	s.client = http.Client{Transport: s, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
			// Following would hand the key and the texts to somebody else.
			return &refusal{message: fmt.Sprintf("it redirects to %s://%s; if that is right, give that URL", req.URL.Scheme, req.URL.Host)}
		}
		return nil
	}}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *server) place() string { return s.base.Host }

// RoundTrip makes one request, under the clients of all providers: what is not a good
// answer comes back as a refusal or busy, a good one is bounded, and nothing is told
// about this machine.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") { // operating system, processor, versions
			req.Header.Del(name)
		}
	}
	req.Header.Set("User-Agent", "chinvex")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) && loopback(s.base.Hostname()) { // waiting starts nothing here
			return nil, &refusal{message: fmt.Sprintf("nothing listens at %s; start the server, or name its URL", s.base.Host)}
		}
		return nil, &busy{message: fmt.Sprintf("the connection failed (%v)", err)}
	}
	if resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		return resp, nil
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return nil, s.failure(resp.StatusCode, body, retryAfter(resp.Header.Get("Retry-After"), time.Now()))
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/json" && media != "text/event-stream" {
		resp.Body.Close()
		return nil, &refusal{message: fmt.Sprintf("the server answers with %q instead of JSON; check the URL", oneLine(media))}
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: answerBytes}
	return resp, nil
}

// failure is the error for an answer that is not 200.
func (s *server) failure(code int, body []byte, wait time.Duration) error {
	message := "the server answers " + strconv.Itoa(code)
	if text := s.explanation(body); text != "" {
		message += ": " + text
	}
	switch {
	case code == http.StatusTooManyRequests || code >= 500:
		return &busy{message, wait}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		message += "; check the key"
	case code == http.StatusNotFound:
		message += "; check the URL and the model's name"
	}
	return &refusal{code, message}
}

// explanation is the message in the body of an error, {"error": {"message": …}},
// {"error": …} or plain text, on one line, without the key.
func (s *server) explanation(body []byte) string {
	text := string(body)
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &object) == nil && len(object.Error) > 0 {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(object.Error, &text) != nil && json.Unmarshal(object.Error, &inner) == nil {
			text = inner.Message
		}
	}
	if s.key != "" {
		text = strings.ReplaceAll(text, s.key, "[key]")
	}
	return oneLine(text)
}

// oneLine makes the start of a text fit for a message.
func oneLine(text string) string {
	const limit = 300
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	if len(text) <= limit {
		return text
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// retryAfter reads the header: seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(header, 10, 32); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// bounded is the body of an answer up to a limit.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &refusal{message: fmt.Sprintf("the answer exceeds %d MiB; allow fewer tokens, or use another model", answerBytes>>20)}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil && err != io.EOF {
		err = brokenOff
	}
	return n, err
}

var brokenOff = &busy{message: "the connection broke off in the middle of the answer"}

// ended turns an error of a client into a refusal or busy without the URL.
func ended(err error) error {
	var no *refusal
	var later *busy
	switch {
	case errors.As(err, &no):
		return no
	case errors.As(err, &later):
		return later
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return brokenOff
	}
	return &refusal{message: fmt.Sprintf("the server's answer is not usable (%s); check the URL, or use another model", oneLine(err.Error()))}
}
