package rules

import (
	"context"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

func BenchmarkPlan(b *testing.B) {
	p := planner(b)
	for _, said := range []string{"멈춰", "거실로 가서 공기 상태 확인하고 필요하면 청정하고 30초 뒤에 복귀해 줘", "오늘 회사에서 부장님 때문에 정말 너무 힘들었어"} {
		b.Run("", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Plan(context.Background(), turn.Input{Text: said}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		planner(b)
	}
}
