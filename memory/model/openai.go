package model

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/chinvex/chinvex/memory"
)

// openAIChat speaks POST /v1/chat/completions, as OpenAI, vLLM, LM Studio, llama.cpp,
// LocalAI and many more do.
type openAIChat struct {
	*server
	service openai.ChatCompletionService
	params  openai.ChatCompletionNewParams // what is the same in each request
}

const openAIURL = "https://api.openai.com/v1"

func newOpenAI(o *Options) (provider, error) {
	ours := o.URL == "" || o.URL == openAIURL
	s, err := connect("openai", o, openAIURL, "OPENAI_API_KEY")
	if err != nil {
		return nil, err
	}
	if s.base.Path == "" { // gateways have paths of their own
		s.base.Path = "/v1"
	}
	if o.Model == "" {
		if !ours {
			return nil, errors.New("the openai server " + s.base.Host + " needs the name of a model: give openai:MODEL")
		}
		o.Model = openai.ChatModelGPT6_1Sol
	}
	c := &openAIChat{server: s, params: openai.ChatCompletionNewParams{Model: o.Model}}
	switch {
	case o.MaxTokens == 0:
	case ours:
		c.params.MaxCompletionTokens = openai.Int(int64(o.MaxTokens))
	default:
		c.params.MaxTokens = openai.Int(int64(o.MaxTokens)) // the older name, which all others know
	}
	options := []option.RequestOption{option.WithBaseURL(s.base.String() + "/"), option.WithHTTPClient(&s.client), option.WithMaxRetries(0)}
	if s.key != "" {
		options = append(options, option.WithAPIKey(s.key))
	}
	c.service = openai.NewChatCompletionService(options...) // not a client, which reads the environment
	return c, nil
}

// formats: the schema, any object, or nothing.
func (c *openAIChat) formats() int { return 3 }

func (c *openAIChat) ask(ctx context.Context, format int, system, user string) (*answer, error) {
	params := c.params
	params.Messages = []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(user)}
	switch format {
	case 0:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "proposal", Strict: openai.Bool(true), Schema: json.RawMessage(memory.Schema())}}
	case 1:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	got, err := c.service.New(ctx, params)
	if err != nil {
		return nil, ended(err)
	}
	if len(got.Choices) == 0 {
		return nil, &refusal{message: "the server's answer is not usable (it holds no message); check the URL, or use another model"}
	}
	choice := got.Choices[0]
	out := &answer{text: choice.Message.Content, model: got.Model, in: int(got.Usage.PromptTokens), out: int(got.Usage.CompletionTokens)}
	switch {
	case choice.Message.Refusal != "":
		out.end, out.text = refused, choice.Message.Refusal
	case choice.FinishReason == "content_filter":
		out.end = refused
	case choice.FinishReason == "length":
		out.end = cut
	}
	return out, nil
}
