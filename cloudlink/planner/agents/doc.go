// Package agents carries out cloud steps: it looks up news and weather, finds passages in product documents, tells quizzes and
// stories, and answers small talk by rules.
//
// It promises: every call ends by its deadline; what could not be got is said so, with a reason, and is never made up; what came from
// outside is bounded, without markup and control characters, and is only ever told, never obeyed; nothing that it says claims that
// something was done in the home. It keeps no state between calls: what a session or a device has to remember comes in and goes out
// as data. It must not know the store, MQTT or the plan. Contract: docs/planner.md, cloud steps.
package agents
