package diag

import (
	"fmt"

	"deviceagent/taskmanager/core"
)

// Exit codes of deviceagentctl. The same number is in every problem document.
const (
	ExitOK         = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitNotDone    = 3
	ExitNoSuchID   = 4
	ExitPermission = 5
	ExitNoAgent    = 6
	ExitRefused    = 7
	ExitTimeLimit  = 8
	ExitUnknown    = 9
	ExitWarnings   = 10
	ExitFailures   = 11
	ExitInterrupt  = 130
)

// Exit is a line of the table of exit codes.
type Exit struct {
	Code    int    `json:"code"`
	Meaning string `json:"meaning"`
}

// Exits is the one table, as help exit-codes prints it.
var Exits = []Exit{
	{ExitOK, "done, or the condition holds"},
	{ExitError, "the agent answered with an error not listed here"},
	{ExitUsage, "wrong usage or invalid file; nothing was changed"},
	{ExitNotDone, "the plan ended, not completed"},
	{ExitNoSuchID, "no such id"},
	{ExitPermission, "permission"},
	{ExitNoAgent, "the agent is not reachable (missing, refused, starting)"},
	{ExitRefused, "refused: conflict, precondition, policy, not allowed now"},
	{ExitTimeLimit, "time limit reached; the state is simply not known yet"},
	{ExitUnknown, "the record asked for is missing, or the outcome is unknown"},
	{ExitWarnings, "doctor: warnings"},
	{ExitFailures, "doctor: failures"},
	{ExitInterrupt, "interrupted"},
}

// Problem is an error as the API tells it: a problem document (RFC 9457).
type Problem struct {
	Type   string       `json:"type"` // urn:deviceagent:problem:<code>
	Title  string       `json:"title"`
	Status int          `json:"status,omitempty"`
	Detail string       `json:"detail,omitempty"`
	Code   string       `json:"code"`
	Hint   string       `json:"hint,omitempty"` // what to do about it: mostly a command
	Exit   int          `json:"exit"`
	Errors []core.Fault `json:"errors,omitempty"` // every fault, with its path in what was handed in
	Answer *Answer      `json:"answer,omitempty"` // what the agent said, where it refused a command
	AsOf   *AsOf        `json:"asOf,omitempty"`   // of the look at the state that found it, if there was one
}

// Error is the title with its detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// Code is a problem code that this package itself gives, beside the reason codes of the core.
type Code string

// The codes. A spelling is for ever.
const (
	CodeNotFound       Code = "path_not_found"
	CodeMethod         Code = "method_not_allowed"
	CodeControlSocket  Code = "control_socket_only"
	CodeAmbiguous      Code = "ambiguous_id"
	CodeUnknownTarget  Code = "unknown_target"
	CodeMalformed      Code = "malformed"
	CodeBadValue       Code = "bad_value"
	CodeTooLarge       Code = "too_large"
	CodeTooMany        Code = "too_many_connections"
	CodeNoCredentials  Code = "peer_unknown"
	CodeStarting       Code = "agent_starting"
	CodeBusy           Code = "agent_busy"
	CodeStopping       Code = "agent_stopping"
	CodeStorage        Code = "storage_error"
	CodeInternal       Code = "internal"
	CodeNoAnswer       Code = "no_answer"
	CodeMissing        Code = "agent_missing"       // client: there is no socket
	CodeRefused        Code = "agent_refused"       // client: nobody listens
	CodePermission     Code = "permission_denied"   // client: the socket's mode does not let this user in
	CodeSilent         Code = "agent_silent"        // client: connected, no answer in time
	CodeWrongVersion   Code = "wrong_version"       // client: something else answers
	CodeUsage          Code = "usage"               // command: wrong call
	CodeInvalidFile    Code = "invalid_file"        // command: the file cannot be read
	CodeInvalidCatalog Code = "invalid_catalog"     // command: faults in catalog files
	CodeTimeLimit      Code = "time_limit"          // command: --timeout ran out
	CodeNotCompleted   Code = "plan_not_completed"  // command: the plan ended otherwise
	CodeInterrupted    Code = "interrupted"         // command: Ctrl-C
	CodeNotConfirmed   Code = "not_confirmed"       // command: the question was answered no
	CodeRecordsMissing Code = "records_not_present" // command: the account has a hole where the answer would be
	CodeBadIdentity    Code = "identity_invalid"
	CodeHasIdentity    Code = "identity_exists"
	CodeNoIdentity     Code = "identity_missing"
	CodeAsked          Code = "certificate_awaited"
	CodeNotAsked       Code = "certificate_not_asked_for"
	CodeInUse          Code = "in_use"
	CodeFiles          Code = "files_not_changed"
	CodeNotOwner       Code = "not_the_owner" // command: the files are those of another user
)

// CodeInfo is what the table says of one code.
type CodeInfo struct {
	Code   Code   `json:"code"`
	Status int    `json:"status,omitempty"` // HTTP; 0: made by the command line tool
	Exit   int    `json:"exit"`
	Title  string `json:"title"`
}

// Codes is the one table of this package's own codes.
var Codes = []CodeInfo{
	{CodeNotFound, 404, ExitError, "the API has no such path"},
	{CodeMethod, 405, ExitError, "the path does not take this method"},
	{CodeControlSocket, 403, ExitPermission, "this socket is for reading only"},
	{CodeAmbiguous, 409, ExitUsage, "several ids begin like this"},
	{CodeUnknownTarget, 404, ExitNoSuchID, "no such id"},
	{CodeMalformed, 422, ExitUsage, "what was handed in cannot be read"},
	{CodeBadValue, 422, ExitUsage, "a value is wrong"},
	{CodeTooLarge, 413, ExitUsage, "what was handed in is too large"},
	{CodeTooMany, 503, ExitRefused, "too many connections of this user"},
	{CodeNoCredentials, 403, ExitPermission, "the kernel does not say who this connection is from"},
	{CodeStarting, 503, ExitNoAgent, "the agent is starting"},
	{CodeBusy, 503, ExitNoAgent, "the agent does not answer in time"},
	{CodeStopping, 503, ExitNoAgent, "the agent is stopping"},
	{CodeStorage, 503, ExitError, "the device cannot store it now; nothing was changed"},
	{CodeInternal, 500, ExitError, "internal error of the agent"},
	{CodeNoAnswer, 504, ExitUnknown, "the agent took it in and did not answer in time; whether it was accepted is not known"},
	{CodeMissing, 0, ExitNoAgent, "cannot reach the agent: there is no socket"},
	{CodeRefused, 0, ExitNoAgent, "cannot reach the agent: the socket refuses connections"},
	{CodePermission, 0, ExitPermission, "cannot reach the agent: this user may not open the socket"},
	{CodeSilent, 0, ExitNoAgent, "the agent does not answer"},
	{CodeWrongVersion, 0, ExitNoAgent, "what answers on the socket is not this API"},
	{CodeUsage, 0, ExitUsage, "wrong usage"},
	{CodeInvalidFile, 0, ExitUsage, "the file cannot be used; nothing was sent"},
	{CodeInvalidCatalog, 0, ExitUsage, "the catalog cannot be used; nothing was changed"},
	{CodeTimeLimit, 0, ExitTimeLimit, "time limit reached"},
	{CodeNotCompleted, 0, ExitNotDone, "the plan ended, not completed"},
	{CodeInterrupted, 0, ExitInterrupt, "interrupted"},
	{CodeNotConfirmed, 0, ExitRefused, "not confirmed; nothing was changed"},
	{CodeRecordsMissing, 0, ExitUnknown, "the records that would tell are missing"},
	{CodeBadIdentity, 422, ExitUsage, "the identity cannot be like this; nothing was changed"},
	{CodeHasIdentity, 409, ExitRefused, "the device has an identity; nothing was changed"},
	{CodeNoIdentity, 409, ExitRefused, "the device has no identity"},
	{CodeAsked, 409, ExitRefused, "another identity waits for its certificate; nothing was changed"},
	{CodeNotAsked, 409, ExitRefused, "no certificate is awaited; nothing was changed"},
	{CodeInUse, 409, ExitRefused, "another process works on the same files"},
	{CodeFiles, 500, ExitError, "the files of the device cannot be read or written"},
	{CodeNotOwner, 0, ExitPermission, "only root and the agent's own user may do this"},
}

// NewProblem makes the problem of one of this package's codes.
func NewProblem(code Code, detail, hint string) *Problem {
	for _, in := range Codes {
		if in.Code == code {
			return &Problem{Type: urn(string(code)), Title: in.Title, Status: in.Status, Detail: detail, Code: string(code), Hint: hint, Exit: in.Exit}
		}
	}
	panic("internal error: no such problem code: " + string(code))
}

func urn(code string) string { return "urn:deviceagent:problem:" + code }

// refusals are the reasons by which a command is refused for what is so now, and not for what it says. All others are faults of
// what was handed in.
var refusals = map[core.Reason][2]int{
	core.ReasonUnknownTarget:    {404, ExitNoSuchID},
	core.ReasonStorageError:     {503, ExitError},
	core.ReasonSameRevision:     {409, ExitRefused},
	core.ReasonOutdatedRevision: {409, ExitRefused},
	core.ReasonAfterCancel:      {409, ExitRefused},
	core.ReasonAlreadyTerminal:  {409, ExitRefused},
	core.ReasonIDReused:         {409, ExitRefused},
	core.ReasonSuperseded:       {409, ExitRefused},
	core.ReasonCancelledBefore:  {409, ExitRefused},
	core.ReasonLimit:            {409, ExitRefused},
	core.ReasonClockUntrusted:   {409, ExitRefused},
	core.ReasonClockSkew:        {409, ExitRefused},
	core.ReasonExpired:          {409, ExitRefused},
	core.ReasonStoreLost:        {409, ExitRefused},
	core.ReasonWrongEpoch:       {409, ExitRefused},
	core.ReasonWrongDevice:      {409, ExitRefused},
	core.ReasonResourceBusy:     {409, ExitRefused},
	core.ReasonCancelRefused:    {409, ExitRefused},
}

// refused is the problem of a command that the agent refused.
func refused(ans core.Answer, doc Answer) *Problem {
	p := &Problem{Type: urn(string(ans.Reason)), Title: "refused: " + core.InfoOf(ans.Reason).Text, Code: string(ans.Reason), Status: 422, Exit: ExitUsage,
		Errors: ans.Faults, Answer: &doc}
	if at, ok := refusals[ans.Reason]; ok {
		p.Status, p.Exit = at[0], at[1]
	} else if len(ans.Faults) > 0 {
		p.Title = "refused: " + plural(len(ans.Faults), "fault")
	}
	if ans.State != "" {
		p.Detail = "the target is " + ans.State
	}
	if len(ans.Stopping) > 0 {
		p.Detail += fmt.Sprintf("; still being stopped: %v", ans.Stopping)
	}
	switch ans.Reason {
	case core.ReasonSameRevision, core.ReasonOutdatedRevision, core.ReasonAfterCancel, core.ReasonAlreadyTerminal:
		p.Hint = "deviceagentctl show " + string(ans.Workflow)
	case core.ReasonUnknownTarget:
		p.Hint = "deviceagentctl ps --all"
	case core.ReasonLimit:
		p.Hint = "deviceagentctl ps"
	}
	return p
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
