package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
)

// dialect is how one kind of server is asked and answers.
type dialect interface {
	// request gives the path behind the base URL and the body.
	request(c Config, r Request, user string) (path string, body any)
	// sign puts the key where this server looks for it.
	sign(h http.Header, key string)
	// answer reads the body of a 200. Fields that it does not know are nobody's fault: servers differ.
	answer(body []byte) (Answer, *Fault)
}

var dialects = map[string]dialect{Gemini: gemini{}, OpenAI: openai{}}

// gemini is generateContent. Names: the provider's own.
type gemini struct{}

type (
	geminiPart struct {
		Text    string `json:"text"`
		Thought bool   `json:"thought,omitempty"`
	}
	geminiContent struct {
		Role  string       `json:"role,omitempty"`
		Parts []geminiPart `json:"parts"`
	}
	geminiConfig struct {
		ResponseMIMEType string          `json:"responseMimeType"`
		ResponseSchema   json.RawMessage `json:"responseSchema"`
		MaxOutputTokens  int             `json:"maxOutputTokens,omitempty"`
		Temperature      *float64        `json:"temperature,omitempty"`
	}
)

func (gemini) request(c Config, r Request, user string) (string, any) {
	return "/models/" + url.PathEscape(c.Model) + ":generateContent", struct {
		System   geminiContent   `json:"systemInstruction"`
		Contents []geminiContent `json:"contents"`
		Config   geminiConfig    `json:"generationConfig"`
	}{
		geminiContent{Parts: []geminiPart{{Text: r.System}}},
		[]geminiContent{{Role: "user", Parts: []geminiPart{{Text: user}}}},
		geminiConfig{"application/json", r.Schema.OpenAPI(), c.OutputTokens, c.temperature()},
	}
}

func (gemini) sign(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }

func (gemini) answer(body []byte) (Answer, *Fault) {
	var frame struct {
		Candidates []struct {
			Content      geminiContent `json:"content"`
			FinishReason string        `json:"finishReason"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage struct {
			Prompt     *int64 `json:"promptTokenCount"`
			Candidates *int64 `json:"candidatesTokenCount"`
			Thoughts   *int64 `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(body, &frame) != nil {
		return Answer{}, &Fault{Code: NotJSON, Detail: "frame"}
	}
	a := Answer{InputTokens: count(frame.Usage.Prompt), OutputTokens: sum(count(frame.Usage.Candidates), count(frame.Usage.Thoughts))}
	if reason := frame.PromptFeedback.BlockReason; reason != "" {
		return a, &Fault{Code: Blocked, Detail: word(reason)}
	}
	if len(frame.Candidates) == 0 {
		return a, &Fault{Code: Empty, Detail: "no candidate"}
	}
	first := frame.Candidates[0]
	for _, p := range first.Content.Parts {
		if !p.Thought {
			a.Text += p.Text
		}
	}
	switch first.FinishReason {
	case "", "STOP":
		return a, nil
	case "MAX_TOKENS":
		return a, &Fault{Code: CutOff, Detail: word(first.FinishReason)}
	}
	return a, &Fault{Code: Blocked, Detail: word(first.FinishReason)}
}

// openai is chat completions with a JSON schema in response_format, in the nested form, which every server of this kind reads.
type openai struct{}

func (openai) request(c Config, r Request, user string) (string, any) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type named struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	}
	type format struct {
		Type   string `json:"type"`
		Schema named  `json:"json_schema"`
	}
	return "/chat/completions", struct {
		Model       string    `json:"model"`
		Messages    []message `json:"messages"`
		Format      format    `json:"response_format"`
		MaxTokens   int       `json:"max_tokens,omitempty"`
		Temperature *float64  `json:"temperature,omitempty"`
		Stream      bool      `json:"stream"`
	}{
		c.Model, []message{{"system", r.System}, {"user", user}}, format{"json_schema", named{r.Purpose, true, r.Schema.JSONSchema()}},
		c.OutputTokens, c.temperature(), false,
	}
}

func (openai) sign(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

func (openai) answer(body []byte) (Answer, *Fault) {
	var frame struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
				Refusal string `json:"refusal"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Prompt     *int64 `json:"prompt_tokens"`
			Completion *int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &frame) != nil {
		return Answer{}, &Fault{Code: NotJSON, Detail: "frame"}
	}
	a := Answer{InputTokens: count(frame.Usage.Prompt), OutputTokens: count(frame.Usage.Completion)}
	if len(frame.Choices) == 0 {
		return a, &Fault{Code: Empty, Detail: "no choice"}
	}
	first := frame.Choices[0]
	a.Text = first.Message.Content
	switch {
	case first.Message.Refusal != "":
		return a, &Fault{Code: Blocked, Detail: "refusal"}
	case first.FinishReason == "length":
		return a, &Fault{Code: CutOff, Detail: "length"}
	case first.FinishReason == "" || first.FinishReason == "stop":
		return a, nil
	}
	return a, &Fault{Code: Blocked, Detail: word(first.FinishReason)}
}

func (c Config) temperature() *float64 {
	if c.Temperature < 0 {
		return nil
	}
	return &c.Temperature
}

// count is a reported number of tokens; what cannot be one was not reported.
func count(n *int64) *int64 {
	if n == nil || *n < 0 || *n > 1<<40 {
		return nil
	}
	return n
}

// sum adds where the first is known.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return a
	}
	n := *a + *b
	return &n
}

var codeWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// word is a code word of a server, if it looks like one: anything else could be a part of the prompt, or of a key.
func word(s string) string {
	if codeWord.MatchString(s) {
		return s
	}
	return fmt.Sprintf("a word of %d bytes", len(s))
}
