package matrix

import "deviceagent/taskmanager/core/catalog"

// Column is one way in which an effect can end.
type Column string

// The columns, in the order of the page.
const (
	Observed     Column = "observed"
	Contradicted Column = "contradicted"
	Expired      Column = "expired"
	Cancelled    Column = "cancelled"
)

// Columns are all of them.
var Columns = []Column{Observed, Contradicted, Expired, Cancelled}

// Row is one provider with the arguments that choose what proves it.
type Row struct {
	Name   string           // its scenarios are called Name-column
	Method catalog.Method   // of an operation; empty: Skill
	Skill  catalog.SkillID  // of content
	Params string           // arguments, JSON; empty: none
	Effect catalog.EffectID // empty: the operation's done_evidence proves it, as the variant has no effect
	Cells  map[Column]Cell
}

// Cell is how one ending is brought about: what the robot is like, and what is done to it beside the plan.
type Cell struct {
	Robot   string   // room where it stands; empty: at its station
	Faults  []string // of the robot
	Given   []string // commands to the robot before anything else
	Before  []string // what is done before the plan is sent
	After   []string // what is done after it
	Keep    bool     // the effect has to be kept, and is lost after it was observed
	Witness []string // lines that the robot's own log has to have, in this order; what stands behind them there does not matter
	Reason  string   // why it ended so; empty: that of the column
	LastsMS int64    // expired: how long the robot works before it says "done"; 0: it says so at once

	Never string // why it cannot be; then there is no scenario
}

// Why a cell cannot be.
const (
	readOnly   = "it asks and changes nothing: no state of the home could be its opposite"
	anEnd      = "every end is its effect, a person's breaking off too: nothing is the opposite of an end"
	said       = "what was heard was heard: a later stop ends the session and undoes nothing"
	noOpposite = "`done_evidence` has no opposite: another value than the one that was asked for proves nothing, and the step expires"
)

// nevers says of what in the catalog each of these follows. Beside that, nothing there may contradict the effect.
var nevers = map[string]func(p *Provider) bool{
	readOnly:   func(p *Provider) bool { return p.Op.ReadOnly },
	anEnd:      func(p *Provider) bool { return p.Op.HumanPaced },
	said:       func(p *Provider) bool { return p.Skill != "" },
	noOpposite: func(p *Provider) bool { return p.Effect == "" },
}

// robotFault is the reason of a step whose executor says that it has failed: it comes with the event that contradicts the effect.
const robotFault = "robot_fault"

func never(why string) Cell { return Cell{Never: why} }

// cancelAfter is a person's cancel that long after the robot was asked.
func cancelAfter(m catalog.Method, d string) []string {
	return []string{"after " + string(m) + " +" + d + " cancel w1"}
}

// What a person has started by the robot's own buttons before the plan comes.
var (
	driving = []string{"press home", "after movement.started +1s wait"}
	fanOn   = []string{"press clean", "after cleaning.started +1m wait"}
)

// Rows is the whole table. Its order is that of the capabilities in the spec of the catalog.
var Rows = []Row{
	{Name: "move", Method: "setMoveTo", Params: `{"position":"주방"}`, Effect: "target_location_reached", Cells: map[Column]Cell{
		Observed:     {Robot: "living_room", Witness: []string{"drives to kitchen", "arrived in kitchen"}},
		Contradicted: {Robot: "living_room", Faults: []string{"setMoveTo:arrive_elsewhere=entrance"}, Witness: []string{"drives to kitchen", "arrived in entrance"}},
		Expired:      {Robot: "living_room", Faults: []string{"setMoveTo:lie_done"}, Witness: []string{"dispatch setMoveTo"}},
		Cancelled:    {Robot: "living_room", After: cancelAfter("setMoveTo", "3s"), Witness: []string{"drives to kitchen", "stops setMoveTo", "stopped in living_room"}},
	}},
	{Name: "stop", Method: "stopMovement", Effect: "movement_stopped", Cells: map[Column]Cell{
		Observed:     {Robot: "kitchen", Before: driving, Witness: []string{"drives to dock (no task)", "dispatch stopMovement", "stopped in kitchen"}},
		Contradicted: {Robot: "kitchen", Keep: true, Faults: []string{"stopMovement:reverts=1m"}, Witness: []string{"dispatch stopMovement", "drives to kitchen (no task)"}},
		Expired:      {Robot: "kitchen", Faults: []string{"stopMovement:lie_done"}, Before: driving, Witness: []string{"drives to dock (no task)", "dispatch stopMovement"}},
		Cancelled:    {Robot: "kitchen", Before: driving, After: cancelAfter("stopMovement", "100ms"), Witness: []string{"drives to dock (no task)", "dispatch stopMovement", "stopped in kitchen"}},
	}},
	{Name: "dock", Method: "returnToStation", Effect: "station_docked", Cells: map[Column]Cell{
		Observed:     {Robot: "living_room", Witness: []string{"drives to dock", "arrived in dock"}},
		Contradicted: {Robot: "living_room", Faults: []string{"returnToStation:fail_after=2s"}, Reason: robotFault, Witness: []string{"drives to dock", "failed in living_room"}},
		Expired:      {Robot: "living_room", Faults: []string{"returnToStation:lie_done"}, Witness: []string{"dispatch returnToStation"}},
		Cancelled:    {Robot: "kitchen", After: cancelAfter("returnToStation", "3s"), Witness: []string{"drives to dock", "stops returnToStation", "stopped in kitchen"}},
	}},
	{Name: "clean", Method: "startBasicAirClear", Params: `{"duration_min":1}`, Effect: "air_cleaning_active", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"cleans study", "cleaned study"}},
		Contradicted: {Robot: "study", Faults: []string{"startBasicAirClear:fail_after=500ms"}, Reason: robotFault, Witness: []string{"dispatch startBasicAirClear"}},
		Expired:      {Robot: "study", Faults: []string{"startBasicAirClear:lie_done"}, Witness: []string{"dispatch startBasicAirClear"}},
		Cancelled:    {Robot: "study", After: cancelAfter("startBasicAirClear", "500ms"), Witness: []string{"dispatch startBasicAirClear", "stops startBasicAirClear"}},
	}},
	{Name: "cleaned", Method: "startBasicAirClear", Params: `{"duration_min":1}`, Effect: "air_cleaning_completed", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"cleans study", "cleaned study"}},
		Contradicted: {Robot: "study", Faults: []string{"startBasicAirClear:fail_after=30s"}, Reason: robotFault, Witness: []string{"cleans study", "cleaned study failed"}},
		Expired:      {Robot: "study", Faults: []string{"startBasicAirClear:drop_event=cleaning.completed"}, LastsMS: 61_000, Witness: []string{"cleans study", "cleaned study"}},
		Cancelled:    {Robot: "study", After: cancelAfter("startBasicAirClear", "30s"), Witness: []string{"cleans study", "stops startBasicAirClear", "cleaned study stopped"}},
	}},
	{Name: "roam", Method: "startBasicAirClear", Params: `{"mode":"all","duration_min":1}`, Effect: "air_cleaning_active", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"drives to study", "cleans study", "arrived in space_2", "cleaned space_2"}},
		Contradicted: {Robot: "study", Faults: []string{"startBasicAirClear:fail_after=500ms"}, Reason: robotFault, Witness: []string{"drives to study", "failed in study"}},
		Expired:      {Robot: "study", Faults: []string{"startBasicAirClear:lie_done"}, Witness: []string{"dispatch startBasicAirClear"}},
		Cancelled:    {Robot: "study", After: cancelAfter("startBasicAirClear", "500ms"), Witness: []string{"drives to study", "stops startBasicAirClear", "stopped in study"}},
	}},
	{Name: "roamed", Method: "startBasicAirClear", Params: `{"mode":"zone","duration_min":1}`, Effect: "air_cleaning_completed", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"drives to study", "cleans study", "cleaned study"}},
		Contradicted: {Robot: "study", Faults: []string{"startBasicAirClear:fail_after=30s"}, Reason: robotFault, Witness: []string{"cleans study", "failed in study", "cleaned study failed"}},
		Expired:      {Robot: "study", Faults: []string{"startBasicAirClear:drop_event=cleaning.completed"}, LastsMS: 61_000, Witness: []string{"cleans study", "cleaned study"}},
		Cancelled:    {Robot: "study", After: cancelAfter("startBasicAirClear", "30s"), Witness: []string{"cleans study", "stops startBasicAirClear", "stopped in study", "cleaned study stopped"}},
	}},
	{Name: "clean-stop", Method: "stopCleaning", Effect: "air_cleaning_stopped", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Before: fanOn, Witness: []string{"cleans study (no task)", "dispatch stopCleaning", "cleaned study stopped"}},
		Contradicted: {Robot: "study", Keep: true, Faults: []string{"stopCleaning:reverts=1m"}, Before: fanOn, Witness: []string{"cleaned study stopped", "cleans study (no task)"}},
		Expired:      {Robot: "study", Faults: []string{"stopCleaning:lie_done"}, Before: fanOn, Witness: []string{"dispatch stopCleaning", "cleaned study"}},
		Cancelled:    {Robot: "study", Faults: []string{"stopCleaning:begin_late=2s"}, Before: fanOn, After: cancelAfter("stopCleaning", "1s"), Witness: []string{"dispatch stopCleaning", "cleaned study stopped"}},
	}},
	{Name: "air", Method: "getAirQuality", Effect: "air_quality_reported", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"dispatch getAirQuality"}},
		Contradicted: never(readOnly),
		Expired:      {Robot: "study", Faults: []string{"getAirQuality:lie_done", "no_reading"}, Witness: []string{"dispatch getAirQuality"}},
		Cancelled:    {Robot: "study", After: cancelAfter("getAirQuality", "500ms"), Witness: []string{"dispatch getAirQuality"}},
	}},
	{Name: "battery", Method: "getBatteryStatus", Effect: "battery_status_reported", Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"dispatch getBatteryStatus"}},
		Contradicted: never(readOnly),
		Expired:      {Robot: "study", Faults: []string{"no_value=battery.level"}, Witness: []string{"dispatch getBatteryStatus"}},
		Cancelled:    {Robot: "study", Faults: []string{"no_value=battery.level"}, After: cancelAfter("getBatteryStatus", "100ms"), Witness: []string{"dispatch getBatteryStatus"}},
	}},
	{Name: "vital", Method: "startVitalSign", Effect: "vital_interaction_ended", Cells: map[Column]Cell{
		Observed:     {Before: []string{"consent granted vital"}, After: []string{"after vital.started +30s vital complete"}, Witness: []string{"dispatch startVitalSign"}},
		Contradicted: never(anEnd),
		Expired:      {Before: []string{"consent granted vital"}, Faults: []string{"startVitalSign:lie_done"}, Witness: []string{"dispatch startVitalSign"}},
		Cancelled:    {Before: []string{"consent granted vital"}, After: cancelAfter("startVitalSign", "30s"), Witness: []string{"dispatch startVitalSign", "stops startVitalSign"}},
	}},
	{Name: "dim", Method: "setScreen", Params: `{"brightness":20}`, Effect: "reduced_visual_stimulation", Cells: settingCells("setScreen", "setScreen brightness=20", "", Cell{Keep: true, Faults: []string{"setScreen:reverts=1m"}})},
	{Name: "bright", Method: "setScreen", Params: `{"brightness":90}`, Cells: settingCells("setScreen", "setScreen brightness=90", "", never(noOpposite))},
	{Name: "screen-on", Method: "setScreen", Params: `{"on":true}`, Cells: settingCells("setScreen", "setScreen on=true", "turn screen off", never(noOpposite))},
	{Name: "quiet", Method: "setVolume", Params: `{"level":10}`, Effect: "quiet_environment", Cells: settingCells("setVolume", "setVolume level=10", "", Cell{Keep: true, Faults: []string{"setVolume:reverts=1m"}})},
	{Name: "loud-unmuted", Method: "setVolume", Params: `{"level":70,"mute":false}`, Cells: settingCells("setVolume", "setVolume level=70 mute=false", "turn mute on", never(noOpposite))},
	{Name: "loud", Method: "setVolume", Params: `{"level":70}`, Cells: settingCells("setVolume", "setVolume level=70", "", never(noOpposite))},
	{Name: "unmuted", Method: "setVolume", Params: `{"mute":false}`, Cells: settingCells("setVolume", "setVolume mute=false", "turn mute on", never(noOpposite))},
	{Name: "night", Method: "setNightMode", Params: `{"on":true}`, Effect: "night_mode_applied", Cells: settingCells("setNightMode", "setNightMode on=true", "", Cell{Faults: []string{"setNightMode:contrary"}})},
	{Name: "night-off", Method: "setNightMode", Params: `{"on":false}`, Cells: settingCells("setNightMode", "setNightMode on=false", "turn night on", never(noOpposite))},
	{Name: "manner", Method: "setMannerMode", Params: `{"on":true}`, Effect: "quiet_environment", Cells: settingCells("setMannerMode", "setMannerMode on=true", "", Cell{Keep: true, Faults: []string{"setMannerMode:reverts=1m"}})},
	{Name: "manner-off", Method: "setMannerMode", Params: `{"on":false}`, Cells: settingCells("setMannerMode", "setMannerMode on=false", "turn manner on", never(noOpposite))},
	{Name: "nudge", Method: "setMoving", Params: `{"direction":"forward","distance_cm":20}`, Cells: map[Column]Cell{
		Observed:     {Robot: "study", Witness: []string{"drives to study", "arrived in study"}},
		Contradicted: never(noOpposite),
		Expired:      {Robot: "study", Faults: []string{"setMoving:lie_done"}, Witness: []string{"dispatch setMoving"}},
		Cancelled:    {Robot: "study", After: []string{"after movement.started press cancel"}, Reason: "pui_cancelled", Witness: []string{"drives to study", "stops setMoving", "stopped in study"}},
	}},
	{Name: "rest", Skill: "rest_guidance", Effect: "rest_guidance_delivered", Cells: map[Column]Cell{
		Observed:     {After: []string{`+1s tell w1.s start {"text":"눈을 감고 천천히 숨을 쉬세요.","payload":{"last":true}}`}, Witness: []string{`dispatch setLlmTts`, `spoken "눈을 감고 천천히 숨을 쉬세요."`}},
		Contradicted: never(said),
		Expired:      {Faults: []string{"setLlmTts:lie_done"}, After: []string{`+1s tell w1.s start {"text":"눈을 감고 천천히 숨을 쉬세요.","payload":{"last":true}}`}, Witness: []string{`dispatch setLlmTts`}},
		Cancelled:    {After: []string{`+1s tell w1.s start {"text":"눈을 감고 천천히 숨을 쉬세요.","payload":{"last":true}}`, "after speech.started +1s cancel w1"}, Witness: []string{`dispatch setLlmTts`, "stops setLlmTts"}},
	}},
	{Name: "news", Skill: "fresh_information_brief", Effect: "fresh_information_delivered", Cells: map[Column]Cell{
		Observed:     {After: []string{`+1s tell w1.s start {"text":"오늘의 뉴스입니다.","payload":{"last":true,"retrieved_at":"@now"}}`}, Witness: []string{`dispatch setLlmTts`, `spoken "오늘의 뉴스입니다."`}},
		Contradicted: never(said),
		Expired:      {Reason: "step_timeout", After: []string{`+1s tell w1.s start {"text":"어제의 뉴스입니다.","payload":{"last":true,"retrieved_at":"2026-11-29T08:00:00.000Z"}}`}, Witness: []string{`dispatch setLlmTts`, `spoken "어제의 뉴스입니다."`}},
		Cancelled:    {After: []string{`+1s tell w1.s start {"text":"오늘의 뉴스입니다.","payload":{"last":true,"retrieved_at":"@now"}}`, "after speech.started +1s cancel w1"}, Witness: []string{`dispatch setLlmTts`, "stops setLlmTts"}},
	}},
	{Name: "content", Skill: "content_session", Effect: "content_session_started", Cells: map[Column]Cell{
		Observed: {After: []string{`+1s tell w1.s start {"text":"첫 번째 문제입니다."}`, `after speech.finished +10s tell w1.s say {"text":"정답은 고래입니다.","payload":{"last":true}}`},
			Witness: []string{`dispatch setLlmTts`, `spoken "첫 번째 문제입니다."`, `dispatch setLlmTts`, `spoken "정답은 고래입니다."`}},
		Contradicted: never(said),
		Expired:      {Faults: []string{"setLlmTts:lie_done"}, Reason: "step_timeout", After: []string{`+1s tell w1.s start {"text":"첫 번째 문제입니다."}`}, Witness: []string{`dispatch setLlmTts`}},
		Cancelled:    {After: []string{`+1s tell w1.s start {"text":"첫 번째 문제입니다."}`, "after speech.started +1s cancel w1"}, Witness: []string{`dispatch setLlmTts`, "stops setLlmTts"}},
	}},
}

// settingCells are the cells of a setting, which is there at once: a lie, or a manager that was turned back, is all that can go wrong.
// A person has turned it the other way before, where it would be so already.
func settingCells(m catalog.Method, sets, turned string, contradicted Cell) map[Column]Cell {
	if contradicted.Never == "" {
		contradicted.Robot, contradicted.Witness = "study", []string{"dispatch " + string(m), "sets " + string(m)}
	}
	var given []string
	if turned != "" {
		given = []string{turned}
	}
	return map[Column]Cell{
		Observed:     {Robot: "study", Given: given, Witness: []string{"dispatch " + sets, "sets " + sets}},
		Contradicted: contradicted,
		Expired:      {Robot: "study", Given: given, Faults: []string{string(m) + ":lie_done"}, Witness: []string{"dispatch " + sets}},
		Cancelled:    {Robot: "study", Given: given, After: cancelAfter(m, "100ms"), Witness: []string{"dispatch " + sets, "sets " + sets}},
	}
}
