package schedule

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// zones are all that the tool chain knows.
func zones(t *testing.T) map[string]*time.Location {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string]*time.Location{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		loc, err := time.LoadLocation(f.Name)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		out[f.Name] = loc
	}
	if len(out) < 400 {
		t.Fatalf("only %d zones", len(out))
	}
	return out
}

// changes are moments at which the clocks of a zone are set, the newest first, at most n.
func changes(loc *time.Location, n int) (out []time.Time) {
	t := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	for range n {
		start, _ := t.In(loc).ZoneBounds()
		if start.IsZero() || start.Year() < 1930 {
			break
		}
		out, t = append(out, start), start.Add(-time.Second)
	}
	return out
}

// brute finds the first minute at which the clocks show wall or more, by trying each.
func brute(wall time.Time, loc *time.Location) time.Time {
	for t := wall.Add(-16 * time.Hour).Truncate(time.Minute); ; t = t.Add(time.Minute) {
		l := t.In(loc)
		if shown := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC); !shown.Before(wall) {
			return t
		}
	}
}

// TestF53_EveryZoneAroundItsChanges compares with trying each minute: on the day of a change and its neighbours, before, in and after
// the hour that is skipped or that there is twice.
func TestF53_EveryZoneAroundItsChanges(t *testing.T) {
	n, gaps, overlaps := 0, 0, 0
	for name, loc := range zones(t) {
		for k, change := range changes(loc, 9) {
			if k >= 3 && k%2 == 0 { // the newest of both kinds, and old ones
				continue
			}
			_, before := change.Add(-time.Second).In(loc).Zone()
			_, after := change.In(loc).Zone()
			if before%60 != 0 || after%60 != 0 {
				continue // local mean time: its minutes are not those of UTC
			}
			shown := change.Add(time.Duration(before) * time.Second) // what the clocks would have shown
			for _, off := range []time.Duration{-time.Minute, 0, time.Duration(after-before) * time.Second / 2, 24 * time.Hour} {
				wall := shown.Add(off).Truncate(time.Minute).UTC()
				rule, faults := Parse(Spec{On: wall.Format("2006-01-02"), At: wall.Format("15:04")})
				if len(faults) > 0 {
					t.Fatal(faults)
				}
				got, ok := rule.Next(wall.Add(-72*time.Hour), loc)
				if want := brute(wall, loc); !ok || !got.Start.Equal(want) {
					t.Fatalf("%s: %s is %s, want %s", name, wall.Format("2006-01-02 15:04"), got.Start, want)
				}
				n++
			}
			if after > before {
				gaps++
			} else if after < before {
				overlaps++
			}
		}
	}
	if t.Logf("%d moments, %d gaps, %d overlaps", n, gaps, overlaps); gaps < 500 || overlaps < 500 {
		t.Error("too few changes were tried")
	}
}

func TestF53_GapAndOverlap(t *testing.T) {
	for _, tc := range []struct{ name, zone, on, at, end, want, wantEnd string }{
		{"plain", "Asia/Seoul", "2026-12-24", "18:00", "19:00", "2026-12-24T09:00:00Z", "2026-12-24T10:00:00Z"},
		{"past midnight", "Asia/Seoul", "2026-12-24", "23:00", "01:00", "2026-12-24T14:00:00Z", "2026-12-24T16:00:00Z"},
		{"in the gap", "Europe/Berlin", "2027-03-28", "02:30", "", "2027-03-28T01:00:00Z", ""},
		{"begins and ends in the gap", "Europe/Berlin", "2027-03-28", "02:10", "02:40", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"},
		{"over the gap", "Europe/Berlin", "2027-03-28", "01:30", "03:30", "2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z"},
		{"in the overlap", "Europe/Berlin", "2026-10-25", "02:30", "", "2026-10-25T00:30:00Z", ""},
		{"over the overlap", "Europe/Berlin", "2026-10-25", "01:30", "03:30", "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z"},
		{"a gap of half an hour", "Australia/Lord_Howe", "2026-10-04", "02:15", "", "2026-10-03T15:30:00Z", ""},
		{"a day that never was", "Pacific/Apia", "2011-12-30", "18:00", "", "2011-12-30T10:00:00Z", ""},
		{"a gap at midnight", "Africa/Cairo", "2026-04-24", "00:30", "", "2026-04-23T22:00:00Z", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			loc, err := time.LoadLocation(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			r, faults := Parse(Spec{On: tc.on, At: tc.at, EndAt: tc.end})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			o, ok := r.Next(time.Time{}, loc)
			if got := o.Start.UTC().Format(time.RFC3339); !ok || got != tc.want {
				t.Errorf("it begins %s, want %s", got, tc.want)
			}
			if got := o.End.UTC().Format(time.RFC3339); tc.wantEnd != "" && got != tc.wantEnd || tc.wantEnd == "" && !o.End.IsZero() {
				t.Errorf("it ends %s, want %s", got, tc.wantEnd)
			}
			if want := strings.NewReplacer("-", "", ":", "").Replace(tc.on + "T" + tc.at); o.Stamp != want {
				t.Errorf("stamp %s, want %s", o.Stamp, want)
			}
		})
	}
}

// TestDaysOverYears walks a rule over two years in several zones: each occurrence is on one of its days, none is left out, none comes
// twice, and Last agrees with Next.
func TestDaysOverYears(t *testing.T) {
	for _, name := range []string{"Asia/Seoul", "America/New_York", "Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Chatham", "UTC"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := Parse(Spec{Days: []string{"mon", "wed", "sun"}, At: "02:30", EndAt: "02:00"})
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
		end := at.AddDate(2, 0, 0)
		want := 0
		for d := at; d.Before(end); d = d.AddDate(0, 0, 1) {
			if slices.Contains([]time.Weekday{time.Monday, time.Wednesday, time.Sunday}, d.Weekday()) {
				want++
			}
		}
		seen := map[string]bool{}
		for {
			o, ok := r.Next(at, loc)
			if !ok || !o.Start.Before(end) {
				break
			}
			last, ok := r.Last(o.Start, loc)
			if prev, _ := r.Last(o.Start.Add(-time.Second), loc); !ok || last != o || prev.Stamp == o.Stamp {
				t.Fatalf("%s: the last at %s is %v, before it %v, want %v", name, o.Start, last, prev, o)
			}
			if seen[o.Stamp] || !o.Start.After(at) || !o.End.After(o.Start) {
				t.Fatalf("%s: %v after %s", name, o, at)
			}
			seen[o.Stamp], at = true, o.Start
		}
		if len(seen) != want {
			t.Errorf("%s: %d occurrences, want %d", name, len(seen), want)
		}
	}
}

func TestUntil(t *testing.T) {
	seoul, _ := time.LoadLocation("Asia/Seoul")
	for _, tc := range []struct {
		until string
		days  int
	}{
		{"2026-12-03", 3}, {"2026-11-30", 0}, {"2026-12-03T18:00:00+09:00", 3}, {"2026-12-03T17:59:59+09:00", 2}, {"2026-12-03T09:00:00Z", 3},
	} {
		r, faults := Parse(Spec{Days: weekdays, At: "18:00", Until: tc.until})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		at, n := time.Date(2026, 12, 1, 0, 0, 0, 0, seoul), 0
		for o, ok := r.Next(at, seoul); ok && n < 10; o, ok = r.Next(o.Start, seoul) {
			n++
		}
		if n != tc.days {
			t.Errorf("until %s: %d days, want %d", tc.until, n, tc.days)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec Spec
		want string
	}{
		{"nothing", Spec{}, "days at"},
		{"days and a date", Spec{Days: []string{"mon"}, On: "2026-12-24", At: "18:00"}, "on"},
		{"a day of no language", Spec{Days: []string{"Mon", "mon", "mon"}, At: "18:00"}, "days days"},
		{"dates and times that there are not", Spec{On: "2026-02-30", At: "24:00", EndAt: "7:00", Until: "never"}, "on at end_at until"},
		{"no time of day", Spec{Days: []string{"mon"}, At: "6pm"}, "at"},
		{"no length", Spec{Days: []string{"mon"}, At: "18:00", EndAt: "18:00"}, "end_at"},
		{"good", Spec{Days: []string{"mon"}, At: "18:00", EndAt: "17:59", Until: "2026-12-31"}, ""},
	} {
		_, faults := Parse(tc.spec)
		var got []string
		for _, f := range faults {
			got = append(got, f.Field)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: faults %v, want %s", tc.name, faults, tc.want)
		}
	}
}

// TestF84_NoNextTimeIsSaidAtOnce: whatever is asked, the answer takes a bounded number of steps.
func TestF84_NoNextTimeIsSaidAtOnce(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []Spec{
		{On: "2026-11-30", At: "18:00"}, {On: "0001-01-01", At: "00:00"}, {Days: []string{"mon"}, At: "18:00", Until: "2026-11-30"},
		{Days: []string{"mon"}, At: "18:00", Until: "2026-12-02"}, {Days: weekdays, At: "18:00", Until: "1970-01-01T00:00:00Z"},
	} {
		r, faults := Parse(s)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		start := time.Now()
		o, ok := r.Next(now, time.UTC)
		if d := time.Since(start); ok || d > 10*time.Millisecond {
			t.Errorf("%+v: %v %v after %v, want none within 10 ms", s, o, ok, d)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	loc, _ := time.LoadLocation("Europe/Berlin")
	r, _ := Parse(Spec{Days: []string{"mon"}, At: "02:30", EndAt: "05:00"})
	at := time.Date(2027, 3, 22, 0, 0, 0, 0, loc)
	for b.Loop() {
		r.Next(at, loc)
	}
}
