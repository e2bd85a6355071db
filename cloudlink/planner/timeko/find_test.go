package timeko

import (
	"slices"
	"testing"
	"time"
)

// monday7 is a Monday, ten in the morning.
var monday7 = time.Date(2016, 11, 7, 10, 0, 0, 0, time.UTC)

// TestFind reads sentences of our own. The value is the normal form of the first of its kind.
func TestFind(t *testing.T) {
	for _, tc := range []struct {
		kind       Kind
		said, want string
	}{
		{Number, "백점 영오", "100.05"}, {Number, "삼천 이백 십일", "3211"}, {Number, "서른 셋", "33"}, {Number, "일억 이천만 삼백오십", "120000350"},
		{Number, "3 1/4", "3.25"}, {Number, "오와 사분의 삼", "5.75"}, {Number, "이분의 일", "0.5"}, {Number, "마이너스 백점 오", "-100.5"}, {Number, "육백만 명", "6000000"},
		{Number, "두 다스", "24"}, {Number, "2^5", "32"}, {Number, "-1/2", "-0.5"}, {Number, "반의 반", "0.5"}, {Number, "반드시 사과를 산다", ""},
		{Duration, "한시간 반", "5400s"}, {Duration, "3일 5시간", "277200s"}, {Duration, "이틀 동안", "172800s"}, {Duration, "여섯 달", "15552000s"}, {Duration, "삼 월요일", ""},
		{Time, "8시 15분 전", "07:45:00"}, {Time, "밤 11시 반", "23:30:00"}, {Time, "밤 12시", "00:00:00"}, {Time, "낮 2시", "14:00:00"}, {Time, "3:05 pm", "15:05:00"}, {Time, "2시간", ""},
		{TimeRange, "오후 4-5시", "16:00:00/17:00:00"}, {TimeRange, "1시 30분부터 오후 3시까지", "13:30:00/15:00:00"}, {TimeRange, "4시와 5시 사이", "04:00:00/05:00:00"},
		{TimeRange, "밤 10시부터 12시까지", "22:00:00/00:00:00"}, {TimeRange, "정오까지", "../12:00:00"}, {TimeRange, "8시 이후", "08:00:00/.."}, {TimeRange, "저녁 늦게", "18:00:00/20:00:00"},
		{Date, "다음 주 월요일", "2016-11-14"}, {Date, "금요일", "2016-11-11"}, {Date, "월요일로부터 3주 후", "2016-11-28"}, {Date, "어제부터 4일 후", "2016-11-10"}, {Date, "4.22에 간다", "2017-04-22"},
		{Date, "2월 29일", "2020-02-29"}, {Date, "십이월 삼십일일", "2016-12-31"}, {Date, "이천십육년 십일월 십육일", "2016-11-16"}, {Date, "16. 11. 2016", "2016-11-16"}, {Date, "8일", "2016-11-08"},
		{Date, "2일", "2016-12-02"}, {Date, "작년 크리스마스", "2015-12-25"}, {Date, "추석", "2017-10-04"}, {Date, "다음 달 첫 번째 월요일", "2016-12-05"}, {Date, "영업일 기준으로 닷새 후", "2016-11-14"},
		{Date, "13월 5일이다", "2016-12-05"}, {Date, "2016-02-30", ""}, {Date, "몇 달 전", "2016-08-07"}, {Date, "다음 주 오늘", "2016-11-14"},
		{DateTime, "내일 아침 8시", "2016-11-08T08:00:00"}, {DateTime, "다음 주 월요일 오전 10시", "2016-11-14T10:00:00"}, {DateTime, "5시간 전", "2016-11-07T05:00:00"}, {DateTime, "금요일까지", "2016-11-11T23:59:59"},
		{Set, "매주 월요일 오후 4시", "XXXX-WXX-1T16"}, {Set, "2주마다", "P2W"}, {Set, "매일 저녁", "TEV"}, {Set, "매월 1일", "XXXX-XX-01"}, {Set, "월요일 아침마다", "XXXX-WXX-1TMO"}, {Set, "평일마다 7시 반에", "XXXX-WXX-WDT07:30"},
		{Relative, "끝에서 세번째", "end-2"}, {Relative, "그 다음 책", "current+1"},
		{Instant, "저녁 7시에", "2016-11-07T19:00:00@hour"}, {Instant, "9시", "2016-11-07T21:00:00@hour"}, {Instant, "내년 5월", "2017-05-01T00:00:00@month"}, {Instant, "2015년 9월 첫번째주", "2015-09-07T00:00:00@week"},
		{Instant, "지난주", "2016-10-31T00:00:00@week"}, {Instant, "이틀 안에", "2016-11-09T10:00:00@day"},
	} {
		got := ""
		if i := slices.IndexFunc(Find(tc.said, monday7), func(f Found) bool { return f.Kind == tc.kind }); i >= 0 {
			got = Find(tc.said, monday7)[i].String()
		}
		if got != tc.want {
			t.Errorf("%s as %s: %q, want %q", tc.said, tc.kind, got, tc.want)
		}
	}
}

func TestEqual(t *testing.T) {
	at := func(text string) time.Time {
		moment, err := time.Parse("2006-01-02T15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	for _, tc := range []struct {
		name string
		a, b Value
		want bool
	}{
		{"a third", Value{Kind: Number, Number: 1.0 / 3}, Value{Kind: Number, Number: 0.333333333333333}, true},
		{"near", Value{Kind: Number, Number: 1.0 / 3}, Value{Kind: Number, Number: 0.3333}, false},
		{"cut to the coarser grain", Value{Kind: Instant, At: at("2013-02-05T04:30"), Grain: Day}, Value{Kind: Instant, At: at("2013-02-05T04:00"), Grain: Hour}, true},
		{"another day", Value{Kind: Instant, At: at("2013-02-05T04:30"), Grain: Day}, Value{Kind: Instant, At: at("2013-02-06T04:30"), Grain: Hour}, false},
		{"two kinds", Value{Kind: Date, At: at("2013-02-05T00:00")}, Value{Kind: DateTime, At: at("2013-02-05T00:00")}, false},
	} {
		if got := tc.a.Equal(tc.b); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// FuzzFind: any text never panics and never goes beyond the text.
func FuzzFind(f *testing.F) {
	for _, said := range []string{"", "오후 3시부터", "삼분의", "13/45/2016", "매", "마이너스", "-", "1/0", "0분의 1", "2^", "천만만", "몇", "일공일 점"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		for _, x := range Find(said, monday7) {
			if x.Start < 0 || x.End <= x.Start || x.End > len(newText(said)) || x.String() == "" {
				t.Errorf("%q: %v from %d to %d", said, x.Value, x.Start, x.End)
			}
		}
	})
}
