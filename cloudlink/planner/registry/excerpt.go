package registry

import (
	"maps"
	"slices"

	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager/core/catalog"
)

// Excerpt is what the planner sees of a robot's catalog: what it can do, be asked and be set to, and the words of all that it cannot.
type Excerpt struct {
	SupportedCapabilities        []string                          `json:"supported_capabilities"`
	ExecutionCapabilities        map[string]catalog.Aliases        `json:"execution_capabilities"` // by operation
	StateQueryCapabilities       map[string]catalog.Aliases        `json:"state_query_capabilities"`
	SettingsCapabilities         map[string]catalog.Aliases        `json:"settings_capabilities"`
	UnsupportedRequestCategories map[string]catalog.Aliases        `json:"unsupported_request_categories"`
	DeviceQnATopics              map[string]catalog.Aliases        `json:"device_qna_topics"`
	ProductIdentityAnchors       catalog.Aliases                   `json:"product_identity_anchors"`
	ClassificationHints          map[string]catalog.Aliases        `json:"classification_hints"`
	RouterHints                  map[string]catalogfile.RouterHint `json:"router_hints"`
}

// ExcerptOf takes it from a catalog. Operations that are not for people are left out.
func ExcerptOf(cat *catalog.Catalog, words catalogfile.Planner) Excerpt {
	x := Excerpt{ExecutionCapabilities: map[string]catalog.Aliases{}, StateQueryCapabilities: map[string]catalog.Aliases{}, SettingsCapabilities: map[string]catalog.Aliases{},
		UnsupportedRequestCategories: map[string]catalog.Aliases{}, DeviceQnATopics: words.QnATopics, ProductIdentityAnchors: words.Identity, ClassificationHints: words.Hints, RouterHints: words.RouterHints}
	kinds := map[string]map[string]catalog.Aliases{"execution": x.ExecutionCapabilities, "state_query": x.StateQueryCapabilities, "settings": x.SettingsCapabilities}
	for _, m := range slices.Sorted(maps.Keys(cat.Operations)) {
		op := cat.Operations[m]
		if op.Visibility != "" && op.Visibility != "public" {
			continue
		}
		if of, ok := kinds[op.Kind]; ok {
			of[string(m)] = op.Aliases
		}
		if !slices.Contains(x.SupportedCapabilities, op.Capability) {
			x.SupportedCapabilities = append(x.SupportedCapabilities, op.Capability)
		}
	}
	for category, u := range words.Unsupported {
		x.UnsupportedRequestCategories[category] = u.Aliases
	}
	return x
}
