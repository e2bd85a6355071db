package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// protocol reads requests and frames answers. It is written from the protocols, not from the planner's code.
type protocol interface {
	read(r *http.Request, body []byte) (Asked, error)
	// frame wraps a text. end: stop, length or refused; usage: tokens are reported.
	frame(text, end string, usage bool) []byte
}

func protocolOf(path string) (protocol, bool) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return openai{}, true
	case strings.Contains(path, "/models/") && strings.HasSuffix(path, ":generateContent"):
		return gemini{}, true
	}
	return nil, false
}

// userObject reads the user's part.
func (a *Asked) userObject() error {
	if err := json.Unmarshal([]byte(a.User), &a.Said); err != nil {
		return fmt.Errorf("the user's part is no JSON object: %w", err)
	}
	return nil
}

type openai struct{}

func (openai) read(r *http.Request, body []byte) (Asked, error) {
	var in struct {
		Model    string
		Messages []struct{ Role, Content string }
		Format   struct {
			Type   string
			Schema struct {
				Name   string
				Strict bool
				Schema json.RawMessage
			} `json:"json_schema"`
		} `json:"response_format"`
		Stream bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, fmt.Errorf("no JSON: %w", err)
	}
	if len(in.Messages) != 2 || in.Messages[0].Role != "system" || in.Messages[1].Role != "user" || in.Stream {
		return Asked{}, fmt.Errorf("want one system and one user message, not streamed")
	}
	if in.Format.Type != "json_schema" || in.Format.Schema.Name == "" || len(in.Format.Schema.Schema) == 0 {
		return Asked{}, fmt.Errorf("want response_format.json_schema with name and schema")
	}
	a := Asked{Protocol: "openai", Model: in.Model, System: in.Messages[0].Content, User: in.Messages[1].Content, Schema: in.Format.Schema.Schema,
		Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	return a, a.userObject()
}

func (openai) frame(text, end string, usage bool) []byte {
	message := map[string]any{"role": "assistant", "content": text}
	if end == "refused" {
		message, end = map[string]any{"role": "assistant", "content": nil, "refusal": "I cannot help with that."}, "stop"
	}
	out := map[string]any{"object": "chat.completion", "model": Banner, "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": end}}}
	if usage {
		out["usage"] = map[string]any{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	}
	return mustJSON(out)
}

type gemini struct{}

func (gemini) read(r *http.Request, body []byte) (Asked, error) {
	type content struct{ Parts []struct{ Text string } }
	var in struct {
		System   content `json:"systemInstruction"`
		Contents []content
		Config   struct {
			MIME   string          `json:"responseMimeType"`
			Schema json.RawMessage `json:"responseSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, fmt.Errorf("no JSON: %w", err)
	}
	if len(in.System.Parts) != 1 || len(in.Contents) != 1 || len(in.Contents[0].Parts) != 1 {
		return Asked{}, fmt.Errorf("want one system instruction and one content of one part")
	}
	if in.Config.MIME != "application/json" || len(in.Config.Schema) == 0 {
		return Asked{}, fmt.Errorf("want responseMimeType application/json and a responseSchema")
	}
	if strings.Contains(string(in.Config.Schema), "additionalProperties") {
		return Asked{}, fmt.Errorf("unknown name additionalProperties in responseSchema")
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/models/")
	a := Asked{Protocol: "gemini", Model: strings.TrimSuffix(rest, ":generateContent"), System: in.System.Parts[0].Text, User: in.Contents[0].Parts[0].Text,
		Schema: in.Config.Schema, Key: r.Header.Get("X-Goog-Api-Key")}
	return a, a.userObject()
}

func (gemini) frame(text, end string, usage bool) []byte {
	reason := map[string]string{"stop": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}[end]
	parts := []any{map[string]any{"text": "thinking aloud", "thought": true}, map[string]any{"text": text}}
	if end == "refused" {
		parts = nil
	}
	out := map[string]any{"modelVersion": Banner, "candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "finishReason": reason}}}
	if usage {
		out["usageMetadata"] = map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120}
	}
	return mustJSON(out)
}

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // text and numbers
	}
	return out
}
