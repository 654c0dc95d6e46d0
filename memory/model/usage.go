package model

import (
	"fmt"
	"regexp"
	"strings"
)

// Usage is what the requests of a Model have taken together.
type Usage struct {
	Provider string   `json:"provider"`
	Model    string   `json:"model"`         // "" when the provider chooses and does not say which
	Requests int      `json:"requests"`      // that were answered
	Input    int      `json:"input_tokens"`  // of questions
	Output   int      `json:"output_tokens"` // of answers, thinking included
	Cost     *float64 `json:"cost_usd"`      // at list price; nil when the price is not known
}

// PriceDate is the day on which the prices were read.
const PriceDate = "2026-10-27"

// price is in USD for a million tokens. When the question has more tokens than long,
// the two are multiplied.
type price struct {
	in, out         float64
	long            int // 0: never
	longIn, longOut float64
}

// prices are list prices, by server and name of the model.
var prices = map[string]map[string]price{
	"api.anthropic.com": {
		"claude-fable-5-1":  {in: 10, out: 50},
		"claude-opus-5-5":   {in: 4, out: 20},
		"claude-opus-5":     {in: 5, out: 25},
		"claude-sonnet-5-5": {in: 2, out: 10},
		"claude-sonnet-5":   {in: 2, out: 10},
		"claude-haiku-5-5":  {.1, .5, 100_000, 5, 5},
		"claude-haiku-4-5":  {in: 1, out: 5},
	},
	"api.openai.com": {
		"gpt-6-astra":   {10, 50, 272_000, 2, 1.5},
		"gpt-6-sol":     {2, 10, 272_000, 2, 1.5},
		"gpt-6.1-sol":   {2, 10, 272_000, 2, 1.5},
		"gpt-6.1-terra": {1, 5, 272_000, 2, 1.5},
		"gpt-6-luna":    {.1, .5, 272_000, 2, 1.5},
	},
}

// version is the date behind a model's name.
var version = regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d)$`)

// cost is what an answer of a server cost, nil when that is not known.
func cost(server string, a *answer) *float64 {
	if a.cost != nil {
		return a.cost
	}
	p, ok := prices[server][version.ReplaceAllString(a.model, "")]
	if !ok {
		return nil
	}
	if p.long > 0 && a.in > p.long {
		p.in, p.out = p.in*p.longIn, p.out*p.longOut
	}
	usd := (float64(a.in)*p.in + float64(a.out)*p.out) / 1e6
	return &usd
}

// Usage returns what the requests so far have taken.
func (m *Model) Usage() Usage { return m.usage }

// add counts an answer of a server.
func (u *Usage) add(server string, a *answer) {
	if a.model == "" {
		a.model = u.Model
	}
	if u.Model == "" {
		u.Model = a.model
	}
	usd := cost(server, a)
	if u.Requests > 0 && usd != nil {
		if u.Cost == nil {
			usd = nil // that of an earlier one is not known
		} else {
			*usd += *u.Cost
		}
	}
	u.Cost = usd
	u.Requests++
	u.Input += a.in
	u.Output += a.out
}

// String is one line for people.
func (u Usage) String() string {
	cost := "cost not known"
	if u.Cost != nil {
		cost = fmt.Sprintf("about $%.4f", *u.Cost)
		if u.Provider != "claude-cli" {
			cost += " at the list prices of " + PriceDate
		}
	}
	requests := "1 request"
	if u.Requests != 1 {
		requests = fmt.Sprintf("%d requests", u.Requests)
	}
	return fmt.Sprintf("%s: %s, %d tokens in, %d out, %s", strings.TrimSpace(u.Provider+" "+u.Model), requests, u.Input, u.Output, cost)
}
