package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forecast is what is read of Open-Meteo's JSON. A number that is not there is nil: not known is not zero.
type forecast struct {
	Offset int `json:"utc_offset_seconds"`
	Daily  struct {
		Time   []string   `json:"time"`
		Code   []*float64 `json:"weather_code"`
		Max    []*float64 `json:"temperature_2m_max"`
		Min    []*float64 `json:"temperature_2m_min"`
		Rain   []*float64 `json:"precipitation_sum"`
		Chance []*float64 `json:"precipitation_probability_max"`
	} `json:"daily"`
}

// day is the weather of one day at one place.
type day struct {
	code, max, min, rain, chance *float64
}

// From when on rain is expected: percent, and millimetres.
const (
	likely = 50
	wet    = 0.5
)

const dailyFields = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max"

// weather looks up the weather of a day at a place.
func (a *Agents) weather(ctx context.Context, t Task) Outcome {
	if a.sources.WeatherURL == "" {
		return Outcome{Reason: ReasonMissing}
	}
	named := cmp.Or(t.text("place"), PlaceOf(t.text("query")))
	place, known := a.place(named)
	if !known {
		return Outcome{Reason: ReasonPlace, Text: say(t.Locale, ReasonPlace, "place", clean(named, titleRunes))}
	}
	if t.text("when") == otherTime {
		return Outcome{Reason: ReasonDay}
	}
	body, _, err := a.fetch.get(ctx, weatherAddress(a.sources.WeatherURL, place))
	if err != nil {
		return Outcome{Reason: reasonOf(err)}
	}
	var f forecast
	if json.Unmarshal(body, &f) != nil || math.Abs(float64(f.Offset)) > 86400 {
		return Outcome{Reason: ReasonUnreadable}
	}
	local := t.Now.In(time.FixedZone("", f.Offset))
	date, when := dayOf(t.text("when"), local, t.Locale)
	i := slices.Index(f.Daily.Time, date)
	switch {
	case i < 0 && date == local.Format(time.DateOnly):
		return Outcome{Reason: ReasonStale}
	case i < 0:
		return Outcome{Reason: ReasonDay}
	}
	d := day{at(f.Daily.Code, i), at(f.Daily.Max, i), at(f.Daily.Min, i), at(f.Daily.Rain, i), at(f.Daily.Chance, i)}
	if !d.possible() {
		return Outcome{Reason: ReasonUnreadable}
	}
	out := d.output()
	out["text"], out["retrieved_at"], out["date"] = d.text(t.Locale, when, place.Name), t.Now.UTC().Format(time.RFC3339), date
	return Outcome{Text: out["text"].(string), Output: out, RetrievedAt: t.Now}
}

// place finds a place by what was said of it; nothing said: the home.
func (a *Agents) place(said string) (Place, bool) {
	if said == "" {
		if len(a.sources.Places) == 0 {
			return Place{}, true
		}
		return a.sources.Places[0], true
	}
	for _, p := range a.sources.Places {
		if strings.Contains(folded(said), folded(p.Name)) {
			return p, true
		}
	}
	return Place{}, false
}

// weatherAddress asks for a week; of a place, if there is one.
func weatherAddress(base string, p Place) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	q := u.Query()
	q.Set("daily", dailyFields)
	q.Set("forecast_days", "7")
	if q.Get("timezone") == "" {
		q.Set("timezone", "auto")
	}
	if p.Name != "" {
		q.Set("latitude", strconv.FormatFloat(p.Latitude, 'f', -1, 64))
		q.Set("longitude", strconv.FormatFloat(p.Longitude, 'f', -1, 64))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// dayOf is the date that is meant, and how it is said.
func dayOf(when string, local time.Time, locale string) (date, said string) {
	switch when {
	case "", "today", "now":
		return local.Format(time.DateOnly), say(locale, "today")
	case "tomorrow":
		return local.AddDate(0, 0, 1).Format(time.DateOnly), say(locale, "tomorrow")
	}
	d, err := time.Parse(time.DateOnly, when)
	if err != nil {
		return when, when
	}
	return when, say(locale, "day", "month", fmt.Sprint(int(d.Month())), "day", fmt.Sprint(d.Day()))
}

func at(list []*float64, i int) *float64 {
	if i >= len(list) {
		return nil
	}
	return list[i]
}

// possible says whether the values can be those of weather on this planet, and at least one of them is there.
func (d day) possible() bool {
	in := func(v *float64, least, most float64) bool { return v == nil || *v >= least && *v <= most }
	some := d.code != nil || d.max != nil || d.chance != nil || d.rain != nil
	return some && in(d.code, 0, 99) && in(d.max, -90, 60) && in(d.min, -90, 60) && in(d.chance, 0, 100) && in(d.rain, 0, 2000)
}

// sky is how a code of the WMO is said, from this code on.
type sky struct {
	From float64 `json:"from"`
	Name string  `json:"name"`
	Rain bool    `json:"rain"`
	Snow bool    `json:"snow"`
	both
}

var skies = read[[]sky]("skies.json")

func skyOf(code float64) (s sky) {
	for _, next := range skies {
		if next.From <= code {
			s = next
		}
	}
	return s
}

// output is what other steps may use. Rain is left out where nothing tells.
func (d day) output() map[string]any {
	out := map[string]any{}
	for name, v := range map[string]*float64{"temp_max": d.max, "temp_min": d.min, "rain_chance": d.chance, "rain_mm": d.rain} {
		if v != nil {
			out[name] = *v
		}
	}
	if d.code != nil {
		s := skyOf(*d.code)
		out["sky"], out["rain"], out["snow"] = s.Name, s.Rain, s.Snow
	}
	if snow, _ := out["snow"].(bool); snow {
		return out
	}
	for _, sign := range []struct {
		v    *float64
		from float64
	}{{d.chance, likely}, {d.rain, wet}} {
		if sign.v != nil {
			already, _ := out["rain"].(bool)
			out["rain"] = already || *sign.v >= sign.from
		}
	}
	return out
}

// text says it in plain sentences.
func (d day) text(locale, when, place string) string {
	var parts []string
	if d.code != nil {
		where := ""
		if place != "" {
			where = "에 "
		}
		said := strings.ReplaceAll(skyOf(*d.code).in(locale), "{at}", where)
		parts = append(parts, strings.NewReplacer(" 에 ", "에 ", " :", ":").Replace(strings.Join(strings.Fields(say(locale, "weather", "when", when, "place", place, "sky", said)), " ")))
	} else {
		parts = append(parts, strings.TrimSpace(when+" "+place)+".")
	}
	if d.min != nil && d.max != nil {
		parts = append(parts, say(locale, "weather_temp", "min", whole(*d.min), "max", whole(*d.max)))
	}
	if d.chance != nil {
		parts = append(parts, say(locale, "weather_chance", "chance", whole(*d.chance)))
	}
	return strings.Join(parts, " ")
}

// whole rounds for speech.
func whole(v float64) string { return strconv.FormatFloat(math.Round(v)+0, 'f', -1, 64) }
