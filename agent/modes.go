package agent

import "context"

// modes tells the link of each change of the device's mode: presence that is kept at the broker has to say it.
func (a *Agent) modes(ctx context.Context) error {
	w, end := a.manager.Watch()
	defer end()
	for {
		select {
		case mv := <-w.C:
			if mv.Workflow != "" && w.Missed() == 0 {
				continue
			}
			select {
			case a.modeChanged <- struct{}{}:
			default: // it will say what is so then
			}
		case <-ctx.Done():
			return nil
		}
	}
}
