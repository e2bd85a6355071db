package timeko

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// occasionText is an occasion in one line: kind, days, date, times (? where the half of the day is open), part, particle and words.
func occasionText(text []rune, o Occasion) string {
	var b strings.Builder
	b.WriteString(string(o.Kind))
	if len(o.Days) > 0 {
		fmt.Fprint(&b, " ", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.Days), " ", ""), "[]"))
	}
	if !o.Day.IsZero() {
		b.WriteString(o.Day.Format(" 01-02"))
	}
	for _, c := range []Clock{o.From, o.Till} {
		if c.Said {
			fmt.Fprintf(&b, " %s%s", clockText(c.Seconds)[:5], map[bool]string{true: "?"}[c.Either])
		}
	}
	if o.Delay > 0 {
		fmt.Fprint(&b, " ", o.Delay)
	}
	return fmt.Sprintf("%s|%s|%s", strings.Join(append(strings.Fields(b.String()), o.Part), " "), o.Tail, string(text[o.Start:o.End]))
}

// When something is to be done: kind and value, particle, words. It is Monday, 30 November 2026.
func TestOccasions(t *testing.T) {
	ref := time.Date(2026, 11, 30, 18, 0, 0, 0, time.FixedZone("KST", 9*3600))
	for _, tc := range []struct{ said, want string }{
		{"매일 오후 6시부터 7시까지", "days 1234567 ||매일;clock 18:00 19:00 ||오후 6시부터 7시까지"},
		{"6시부터 7시까지", "clock 06:00? 07:00? ||6시부터 7시까지"},
		{"6시부터 오후 7시까지", "clock 18:00 19:00 ||6시부터 오후 7시까지"},
		{"11시부터 새벽 3시까지", "clock 23:00 03:00 ||11시부터 새벽 3시까지"},
		{"밤 10시부터 아침 6시까지", "clock 22:00 06:00 ||밤 10시부터 아침 6시까지"},
		{"4~5시", "clock 04:00? 05:00? ||4~5시"},
		{"07:30에", "clock 07:30 |에|07:30에"},
		{"7시까지 끝내", "clock 07:00? ||7시까지"},
		{"6시 예약을 7시로", "clock 06:00? ||6시;clock 07:00? |로|7시로"},
		{"월수금 7시", "days 135 ||월수금;clock 07:00? ||7시"},
		{"수목원에서", ""},
		{"월요일부터 금요일까지", "days 12345 ||월요일부터 금요일까지"},
		{"매주 월요일이랑 목요일", "days 14 ||매주 월요일이랑 목요일"},
		{"월요일", "day 11-30 ||월요일"},
		{"월요일마다", "days 1 ||월요일마다"},
		{"주말마다", "days 67 ||주말마다"},
		{"아침마다 청정", "days 1234567 am||아침마다"},
		{"아침에", "part am|에|아침에"},
		{"아침밥 먹자", ""},
		{"격주 월요일", "period ||격주;day 11-30 ||월요일"},
		{"매달 1일 9시", "period ||매달 1일 9시"},
		{"30분 뒤에", "after 30m0s ||30분 뒤에"},
		{"3일 뒤에", "day 12-03 ||3일 뒤에"},
		{"한 시간 동안", ""},
		{"다시 시작해", ""},
		{"사과 한 개", ""},
		{"거실청정매일저녁7시에예약", "days 1234567 ||매일;clock 19:00 |에|저녁7시에"},
		{"모레 정오", "day 12-02 ||모레;clock 12:00 ||정오"},
	} {
		text, found := Occasions(tc.said, ref)
		var got []string
		for _, o := range found {
			got = append(got, occasionText([]rune(text), o))
		}
		if strings.Join(got, ";") != tc.want {
			t.Errorf("%s\n\tgives %q\n\twant  %q", tc.said, strings.Join(got, ";"), tc.want)
		}
	}
}
