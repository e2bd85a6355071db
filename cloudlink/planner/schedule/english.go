package schedule

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/timeko"
)

// English is read in its simple forms: a time with am or pm or on 24 hours, days of the week, today and tomorrow, "in 30 minutes".

const clockEn = `(\d{1,2})(?::(\d{2}))?\s?(am|pm|a\.m\.|p\.m\.|o'clock)?`

var (
	enRange = regexp.MustCompile(`\b(?:from|between)\s+` + clockEn + `\s+(?:to|until|till|and)\s+` + clockEn)
	enAt    = regexp.MustCompile(`\b(?:at|from|for)\s+` + clockEn)
	enPlain = regexp.MustCompile(`\b(\d{1,2})(?::(\d{2}))?\s?(am|pm|a\.m\.|p\.m\.)`)
	enUntil = regexp.MustCompile(`\b(?:until|till)\s+` + clockEn)
	enTo    = regexp.MustCompile(`\bto\s+` + clockEn)
	enNoon  = regexp.MustCompile(`\b(?:at\s+)?(noon|midnight)\b`)
	enIn    = regexp.MustCompile(`\bin\s+(\d+|a|an|half an)\s+(minutes?|hours?)\b`)
	enDaily = regexp.MustCompile(`\b(every day|daily|each day|on weekdays|every weekday|weekdays|on weekends|every weekend|weekends|every morning|every evening|every night)\b`)
	enDays  = regexp.MustCompile(`\b(every\s+|on\s+|next\s+|this\s+)?((?:mon|tues|wednes|thurs|fri|satur|sun)days?)((?:(?:,|\s+and)\s+(?:mon|tues|wednes|thurs|fri|satur|sun)days?)*)`)
	enDay   = regexp.MustCompile(`\b(today|tonight|tomorrow|the day after tomorrow)\b`)
	enPart  = regexp.MustCompile(`\b(?:in the\s+|this\s+)?(morning|afternoon|evening)\b`)
	enName  = regexp.MustCompile(`mon|tues|wednes|thurs|fri|satur|sun`)
)

var enOrder = []string{"", "mon", "tues", "wednes", "thurs", "fri", "satur", "sun"}

var enGroups = map[string][]int{"weekday": {1, 2, 3, 4, 5}, "weekend": {6, 7}}

// englishOccasions is [timeko.Occasions] for English.
func englishOccasions(said string, now time.Time) (string, []timeko.Occasion) {
	text := strings.ToLower(strings.Join(strings.Fields(said), " "))
	var out []timeko.Occasion
	add := func(at []int, o timeko.Occasion) {
		from, to := len([]rune(text[:at[0]])), len([]rune(text[:at[1]]))
		if slices.ContainsFunc(out, func(x timeko.Occasion) bool { return from < x.End && x.Start < to }) {
			return
		}
		o.Start, o.End = from, to
		out = append(out, o)
	}
	each := func(re *regexp.Regexp, make func(m []string) (timeko.Occasion, bool)) {
		for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
			m := re.FindStringSubmatch(text[at[0]:at[1]])
			if m == nil {
				continue
			}
			if o, ok := make(m); ok {
				add(at, o)
			}
		}
	}
	each(enRange, func(m []string) (timeko.Occasion, bool) {
		from, okFrom := clockOf(m[1], m[2], m[3])
		till, ok := clockOf(m[4], m[5], m[6])
		if from.Either && till.Part == "pm" && from.Seconds+12*3600 < till.Seconds { // from 6 to 7 pm
			from.Seconds, from.Either = from.Seconds+12*3600, false
		}
		return timeko.Occasion{Kind: timeko.AtClock, From: from, Till: till}, ok && okFrom
	})
	each(enUntil, func(m []string) (timeko.Occasion, bool) {
		till, ok := clockOf(m[1], m[2], m[3])
		return timeko.Occasion{Kind: timeko.AtClock, Till: till}, ok
	})
	for _, re := range []*regexp.Regexp{enAt, enPlain, enTo} {
		tail := map[*regexp.Regexp]string{enTo: "to"}[re]
		each(re, func(m []string) (timeko.Occasion, bool) {
			from, ok := clockOf(m[1], m[2], m[3])
			return timeko.Occasion{Kind: timeko.AtClock, From: from, Tail: tail}, ok
		})
	}
	each(enNoon, func(m []string) (timeko.Occasion, bool) {
		seconds := map[string]int{"noon": 12 * 3600}[m[1]]
		return timeko.Occasion{Kind: timeko.AtClock, From: timeko.Clock{Said: true, Seconds: seconds, Part: "exact"}}, true
	})
	each(enIn, func(m []string) (timeko.Occasion, bool) {
		unit := time.Minute
		if strings.HasPrefix(m[2], "hour") {
			unit = time.Hour
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			n = 1
		}
		delay := time.Duration(n) * unit
		if m[1] == "half an" {
			delay = unit / 2
		}
		return timeko.Occasion{Kind: timeko.After, Delay: delay}, true
	})
	each(enDaily, func(m []string) (timeko.Occasion, bool) {
		o := timeko.Occasion{Kind: timeko.OnDays, Days: []int{1, 2, 3, 4, 5, 6, 7}}
		for _, word := range []string{"weekday", "weekend"} {
			if strings.Contains(m[1], word) {
				o.Days = enGroups[word]
			}
		}
		for word, part := range map[string]string{"morning": "am", "evening": "pm", "night": "night"} { // at most one is there
			if strings.Contains(m[1], word) {
				o.Part = part
			}
		}
		return o, true
	})
	each(enDays, func(m []string) (timeko.Occasion, bool) { return englishDays(m, now) })
	each(enDay, func(m []string) (timeko.Occasion, bool) {
		shift := map[string]int{"tomorrow": 1, "the day after tomorrow": 2}[m[1]]
		return timeko.Occasion{Kind: timeko.OnDay, Day: clockOr(now).AddDate(0, 0, shift), Part: map[string]string{"tonight": "night"}[m[1]]}, true
	})
	each(enPart, func(m []string) (timeko.Occasion, bool) {
		return timeko.Occasion{Kind: timeko.InPart, Part: english.Parts[m[1]]}, true
	})
	slices.SortFunc(out, func(a, b timeko.Occasion) int { return a.Start - b.Start })
	return text, out
}

// englishDays: "every monday" and "mondays" come again, as do several; "on monday" and "next monday" are one day.
func englishDays(m []string, now time.Time) (timeko.Occasion, bool) {
	var days []int
	for _, name := range enName.FindAllString(m[2]+m[3], -1) {
		days = append(days, slices.Index(enOrder, name))
	}
	how := strings.TrimSpace(m[1])
	if how == "every" || len(days) > 1 || strings.HasSuffix(m[2], "days") {
		return timeko.Occasion{Kind: timeko.OnDays, Days: days}, true
	}
	today := (int(clockOr(now).Weekday())+6)%7 + 1
	ahead := (days[0] - today + 7) % 7
	if how == "next" { // of the week after this one
		ahead = days[0] - today + 7
	}
	return timeko.Occasion{Kind: timeko.OnDay, Day: clockOr(now).AddDate(0, 0, ahead)}, true
}

func clockOf(hour, minute, part string) (timeko.Clock, bool) {
	h, err := strconv.Atoi(hour)
	mi, _ := strconv.Atoi("0" + minute)
	if err != nil || h > 24 || mi > 59 {
		return timeko.Clock{}, false
	}
	c := timeko.Clock{Said: true, Part: strings.NewReplacer(".", "", "o'clock", "").Replace(part)}
	switch {
	case c.Part == "pm" && h < 12:
		h += 12
	case c.Part == "am" && h == 12, h == 24:
		h = 0
	}
	c.Seconds = h*3600 + mi*60
	c.Either = c.Part == "" && h < 12 && !strings.HasPrefix(hour, "0")
	return c, true
}
