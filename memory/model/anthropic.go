package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/shared"

	"github.com/chinvex/chinvex/memory"
)

// anthropicMessages speaks Anthropic's Messages API, streaming, as it wants long
// answers to be asked for.
type anthropicMessages struct {
	*server
	service anthropic.MessageService
	params  anthropic.MessageNewParams // what is the same in each request
	format  anthropic.JSONOutputFormatParam
}

func newAnthropic(o *Options) (provider, error) {
	s, err := connect("anthropic", o, "https://api.anthropic.com", "ANTHROPIC_API_KEY")
	if err != nil {
		return nil, err
	}
	if o.Model == "" {
		o.Model = anthropic.ModelClaudeSonnet5_5
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = 32_000 // models that think count that too
	}
	a := &anthropicMessages{server: s, params: anthropic.MessageNewParams{Model: o.Model, MaxTokens: int64(o.MaxTokens)}}
	if err := json.Unmarshal(memory.Schema(), &a.format.Schema); err != nil {
		return nil, err
	}
	// The service alone, not a client: that would read addresses, keys and headers from
	// the environment that nobody named here.
	options := []option.RequestOption{option.WithBaseURL(s.base.String() + "/"), option.WithHTTPClient(&s.client), option.WithMaxRetries(0)}
	if s.key != "" {
		options = append(options, option.WithAPIKey(s.key))
	}
	a.service = anthropic.NewMessageService(options...)
	return a, nil
}

// formats: the schema, or nothing.
func (a *anthropicMessages) formats() int { return 2 }

func (a *anthropicMessages) ask(ctx context.Context, format int, system, user string) (*answer, error) {
	params := a.params
	params.System = []anthropic.TextBlockParam{{Text: system}}
	params.Messages = []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(user))}
	if format == 0 {
		params.OutputConfig.Format = a.format
	}
	stream := a.service.NewStreaming(ctx, params)
	var out answer
	var text strings.Builder
	stop := anthropic.StopReason("")
	for stream.Next() {
		event := stream.Current()
		switch event.Type {
		case "message_start":
			u := event.Message.Usage
			out.model, out.in = event.Message.Model, int(u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens)
		case "content_block_delta":
			text.WriteString(event.Delta.Text) // "" for thinking and what else there may be
		case "message_delta":
			stop, out.out = event.Delta.StopReason, int(event.Usage.OutputTokens)
		}
	}
	if err := stream.Err(); err != nil {
		var told *anthropic.Error // by an event of the stream
		if errors.As(err, &told) {
			code := 500
			if told.Type() == shared.ErrorTypeInvalidRequestError {
				code = 400
			}
			return nil, a.failure(code, []byte(told.RawJSON()), 0)
		}
		return nil, ended(err)
	}
	defer stream.Close()
	switch stop {
	case "":
		return nil, brokenOff
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		out.end = cut
	case anthropic.StopReasonRefusal:
		out.end = refused
	}
	out.text = text.String()
	return &out, nil
}
