// Package remote asks an embedding server: one file a protocol, everything that they
// share (retries, time-outs, limits, the key) here. It is apart from package embed
// because net/http costs every process that links it, and hooks never ask a server.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
)

// Config says how to reach a remote provider. Zero values mean the defaults.
type Config struct {
	Provider   string        // "openai" for any OpenAI-compatible server, or "ollama"
	Model      string        // the server's name for the model; required
	URL        string        // of the server; default https://api.openai.com/v1 or http://127.0.0.1:11434
	KeyEnv     string        // environment variable that holds the key; default OPENAI_API_KEY for api.openai.com, else no key
	KeyFile    string        // file that holds the key, instead of KeyEnv
	Dimensions int           // asked from the server and required of its answers; 0 for whatever the model gives
	BatchSize  int           // most texts a call; default 64
	Timeout    time.Duration // of one call; default 30 s
	TextBytes  int           // longer texts are cut there, on the border of a character; default 16,384
}

const (
	maxTries    = 5
	maxWait     = time.Minute // a server that asks for a longer pause is given up
	batchBytes  = 256 << 10   // of text in a call of more than one text
	answerBytes = 64 << 20
	errorBytes  = 4 << 10 // read of an answer that is an error
)

// FromSettings returns the embedder for the configured provider.
func FromSettings(e project.EmbeddingSettings) (embed.Embedder, error) {
	return New(Config{Provider: e.Provider, Model: e.Model, URL: e.URL, KeyEnv: e.KeyEnv, KeyFile: e.KeyFile,
		Dimensions: e.Dimensions, BatchSize: e.BatchSize, Timeout: time.Duration(e.TimeoutSeconds) * time.Second})
}

// New returns the embedder for a remote provider. It makes no call yet; the
// errors are about the configuration.
//
// Calls are repeated on 429, 5xx and failed connections, at most 5 tries with growing
// random pauses or the pause that the server asks for. The key is sent to the host of
// the URL only and never appears in an error. Without Config.Dimensions the Model has 0
// dimensions until the first text has been embedded.
func New(cfg Config) (embed.Embedder, error) {
	var api protocol
	switch cfg.Provider {
	case "openai":
		api = openAI{}
		if cfg.URL == "" {
			cfg.URL = "https://api.openai.com/v1"
		}
	case "ollama":
		api = ollama{}
		if cfg.URL == "" {
			cfg.URL = "http://127.0.0.1:11434"
		}
	default:
		return nil, fmt.Errorf("embedding provider %q is not known: use builtin, openai or ollama", cfg.Provider)
	}
	if cfg.Model == "" {
		return nil, fmt.Errorf("embedding provider %s needs the name of a model", cfg.Provider)
	}
	if cfg.Dimensions < 0 || cfg.BatchSize < 0 || cfg.Timeout < 0 || cfg.TextBytes < 0 {
		return nil, errors.New("embedding dimensions, batch size, time-out and text size must not be negative")
	}
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("the embedding server's URL must look like https://host/v1") // not shown: it may hold a password
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the embedding server's URL for %s must not hold a password, a query or a fragment: name the key's environment variable or file", base.Host)
	}
	if cfg.KeyEnv == "" && cfg.KeyFile == "" && base.Hostname() == "api.openai.com" {
		cfg.KeyEnv = "OPENAI_API_KEY"
	}
	key, err := readKey(cfg)
	if err != nil {
		return nil, err
	}
	if key != "" && base.Scheme == "http" && !loopback(base.Hostname()) {
		return nil, fmt.Errorf("the embedding server %s would get the key unencrypted: use https", base.Host)
	}
	r := &remote{
		cfg: cfg, api: api, key: key, pause: 500 * time.Millisecond,
		url: api.endpoint(strings.TrimRight(base.String(), "/")), host: base.Host,
	}
	if r.cfg.BatchSize == 0 {
		r.cfg.BatchSize = 64
	}
	if r.cfg.Timeout == 0 {
		r.cfg.Timeout = 30 * time.Second
	}
	if r.cfg.TextBytes == 0 {
		r.cfg.TextBytes = 16 << 10
	}
	r.dims.Store(int64(cfg.Dimensions))
	r.client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
			// Following would hand the key and the texts to somebody else.
			return refusal(fmt.Sprintf("it redirects to %s://%s; if that is right, configure that URL", req.URL.Scheme, req.URL.Host))
		}
		return nil
	}
	return r, nil
}

func readKey(cfg Config) (string, error) {
	var key, source string
	switch {
	case cfg.KeyFile != "":
		data, err := os.ReadFile(cfg.KeyFile)
		if err != nil {
			return "", fmt.Errorf("read the embedding key: %w", err)
		}
		key, source = strings.TrimSpace(string(data)), "file "+cfg.KeyFile
	case cfg.KeyEnv != "":
		key, source = strings.TrimSpace(os.Getenv(cfg.KeyEnv)), "environment variable "+cfg.KeyEnv
	default:
		return "", nil
	}
	if key == "" {
		return "", fmt.Errorf("the embedding key is missing: %s is empty", source)
	}
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("the embedding key in %s is not one line of plain characters", source)
		}
	}
	return key, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// protocol is what differs between servers.
type protocol interface {
	endpoint(base string) string
	// request is turned into JSON; dims is 0 when not configured.
	request(model string, dims int, texts []string) any
	// vectors reads an answer to n texts.
	vectors(body []byte, n int) ([][]float32, error)
}

type remote struct {
	cfg    Config
	api    protocol
	key    string
	url    string // of the call
	host   string
	client http.Client
	pause  time.Duration // before the second try; doubles
	dims   atomic.Int64  // 0 until known
}

func (r *remote) Model() embed.Model {
	return embed.Model{Provider: r.cfg.Provider, Name: r.cfg.Model, Dimensions: int(r.dims.Load())}
}

// Embed sends as many calls as the texts need, one after the other.
func (r *remote) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var batch []string
	var places []int
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		got, err := r.call(ctx, batch)
		if err != nil {
			return fmt.Errorf("embed with %s at %s: %w", r.cfg.Model, r.host, err)
		}
		for i, v := range got {
			vectors[places[i]] = v
		}
		batch, places, size = batch[:0], places[:0], 0
		return nil
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		text = cut(text, r.cfg.TextBytes)
		if len(batch) == r.cfg.BatchSize || size+len(text) > batchBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, places, size = append(batch, text), append(places, i), size+len(text)
	}
	if err := flush(); err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if v == nil {
			vectors[i] = make([]float32, r.dims.Load())
		}
	}
	return vectors, nil
}

// cut shortens text to at most limit bytes, on the border of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// refusal is an answer that trying again will not change.
type refusal string

func (r refusal) Error() string { return string(r) }

// busy is an answer that trying again may change.
type busy struct {
	message string
	wait    time.Duration // that the server asks for
}

func (b busy) Error() string { return b.message }

// call embeds one batch, trying again where that may help.
func (r *remote) call(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(r.api.request(r.cfg.Model, r.cfg.Dimensions, texts))
	if err != nil {
		return nil, err
	}
	pause := r.pause
	for try := 1; ; try++ {
		answer, err := r.post(ctx, body)
		if err == nil {
			vectors, err := r.api.vectors(answer, len(texts))
			if err != nil {
				return nil, fmt.Errorf("the server's answer is not usable: %w", err)
			}
			return vectors, r.check(vectors, len(texts))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var no refusal
		if errors.As(err, &no) {
			return nil, no
		}
		var later busy
		errors.As(err, &later)
		if try == maxTries {
			return nil, fmt.Errorf("%w (%d tries)", err, try)
		}
		if later.wait > maxWait {
			return nil, fmt.Errorf("%w; it asks to wait %v", err, later.wait.Round(time.Second))
		}
		// Between a half and the whole, so that clients do not come back together.
		wait := max(later.wait, pause/2+rand.N(pause/2+1))
		pause *= 2
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// post makes one call and returns the body of a good answer.
func (r *remote) post(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, refusal("the URL is not usable")
	}
	req.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		answer, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes+1))
		if err != nil {
			return nil, r.failure(ctx, err)
		}
		if len(answer) > answerBytes {
			return nil, refusal(fmt.Sprintf("the server's answer exceeds %d MiB; lower the batch size", answerBytes>>20))
		}
		return answer, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, errorBytes))
	message := "the server answers " + strconv.Itoa(resp.StatusCode)
	if text := r.explanation(text); text != "" {
		message += ": " + text
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return nil, busy{message, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, refusal(message + "; check the key")
	case resp.StatusCode == http.StatusNotFound:
		return nil, refusal(message + "; check the URL and the model's name")
	}
	return nil, refusal(message)
}

// failure turns an error of the HTTP client into a sentence without the URL.
func (r *remote) failure(ctx context.Context, err error) error {
	var no refusal
	if errors.As(err, &no) {
		return no
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no whole answer within %v", r.cfg.Timeout)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("the connection failed (%w); check that the server runs", err)
}

// explanation is the message in the body of an error: {"error": {"message": …}},
// {"error": …} or plain text, on one line, without the key.
func (r *remote) explanation(body []byte) string {
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
	if r.key != "" {
		text = strings.ReplaceAll(text, r.key, "[key]")
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	return cut(text, 300)
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

// check compares an answer with what was asked and brings each vector to length 1.
func (r *remote) check(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return fmt.Errorf("the server gave %d vectors for %d texts", len(vectors), n)
	}
	for _, v := range vectors {
		if len(v) == 0 {
			return errors.New("the server gave an empty vector")
		}
		r.dims.CompareAndSwap(0, int64(len(v)))
		if want := r.dims.Load(); int64(len(v)) != want {
			return fmt.Errorf("the server gave a vector of %d dimensions instead of %d; configure the model's dimensions and rebuild the index", len(v), want)
		}
		var norm float64
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			return errors.New("the server gave a vector with a number that is not finite")
		}
		if norm > 0 {
			for i, x := range v {
				v[i] = float32(float64(x) / math.Sqrt(norm))
			}
		}
	}
	return nil
}
