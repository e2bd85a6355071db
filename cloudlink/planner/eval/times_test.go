package eval

import (
	"slices"
	"strings"
	"testing"
)

// ourTimes have values in each spelling of the sources; two are wrong on purpose.
const ourTimes = `
{"id":"1","text":"알람을 저녁 9시에 맞춰 줘","kind":"time","span":"저녁 9시","value":{"timex":"T21","future":{"time":"21:00:00"}}}
{"id":"2","text":"2시에서 4시까지","kind":"timerange","span":"2시에서 4시까지","value":{"values":[{"start":"02:00:00","end":"04:00:00"},{"start":"14:00:00","end":"16:00:00"}]}}
{"id":"3","text":"두 시간 동안","kind":"duration","span":"두 시간","value":{"n":2,"unit":"Hour"}}
{"id":"4","text":"모레 봐","kind":"date","span":"모레","value":{"future":{"date":"2016-11-09"}},"reference":"2016-11-07T00:00:00"}
{"id":"5","text":"내일 아침 8시","kind":"datetime","span":"내일 아침 8시","value":{"values":[{"value":"2016-11-08 08:00:00"}]},"reference":"2016-11-07T00:00:00+03:00"}
{"id":"6","text":"매주","kind":"set","span":"매주","value":{"timex":"P1W","future":{"set":"Set: P1W"}}}
{"id":"7","text":"끝에 서","kind":"relative","span":"끝","value":{"value":"end+0"}}
{"id":"8","text":"일주일전","kind":"instant","span":"일주일전","value":{"at":"2013-02-05T04:00:00","grain":"Hour"},"reference":"2013-02-12T04:30:00"}
{"id":"9","text":"모레 봐","kind":"date","span":"모레","value":{"future":{"date":"2016-11-10"}},"reference":"2016-11-07T00:00:00"}
{"id":"10","text":"오십 개와 육십 개","kind":"number","span":"육십","value":50.0}
{"id":"11","text":"8월부터","kind":"daterange","span":"8월부터","value":{}}
`

func TestTimeFigures(t *testing.T) {
	rows, kind, err := Read(strings.NewReader(ourTimes))
	if err != nil || kind != TimeValues {
		t.Fatal(kind, err)
	}
	rep, err := MeasureTimes(rows)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, x := range rep.Wrong {
		wrong = append(wrong, x.ID)
	}
	if rep.Right != (Ratio{8, 10}) || !slices.Equal(wrong, []string{"9", "10"}) || rep.Skipped["daterange"] != 1 {
		t.Errorf("right %s, wrong %v, skipped %v", rep.Right, rep.Wrong, rep.Skipped)
	}
}

func TestBadTimeValue(t *testing.T) {
	rows, _, err := Read(strings.NewReader(`{"id":"1","text":"모레","kind":"date","value":{"future":{"date":"soon"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MeasureTimes(rows); err == nil || !strings.Contains(err.Error(), "value of 1") {
		t.Errorf("%v, want a fault of row 1", err)
	}
}
