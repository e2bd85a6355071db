package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"deviceagent/agent/config"
	"deviceagent/agent/diag"
)

// installedRoot is where the installed settings are below. A test has its own.
var installedRoot = "/"

// agentUser is the service's own. Source: packaging/sysusers.d/deviceagent.conf.
const agentUser = "deviceagent"

const stateDirUsage = "the agent's state_dir (DEVICEAGENT_STATE_DIR; default: that of the agent that runs, else of its settings)"

// stateDir is that of the flag, else of the agent that runs, else of the installed settings.
func (a *app) stateDir(ctx context.Context, flag string) string {
	if flag != "" {
		return flag
	}
	if rep, err := a.client.Get(ctx, "/config", nil); err == nil {
		var rows []diag.Setting
		_ = json.Unmarshal(rep.Data, &rows)
		for _, r := range rows {
			if text, err := strconv.Unquote(r.Value); r.Key == "state_dir" && err == nil {
				return text
			}
		}
	}
	files, _ := config.DefaultFiles(installedRoot)
	return config.StateDir(config.Sources{Files: files})
}

// inForce are the settings of an agent that is started now, as far as they can be read: one without a name would not start.
func inForce(dir string) (config.Config, config.Origins, bool) {
	files, err := config.DefaultFiles(installedRoot)
	if err != nil {
		return config.Config{}, nil, false
	}
	for _, flags := range []map[string]string{{"state_dir": dir}, {"state_dir": dir, "device_id": "unnamed"}} {
		c, o, err := config.Load(config.Sources{Files: files, Flags: flags})
		if err == nil {
			if flags["device_id"] != "" {
				c.DeviceID = ""
			}
			return c, o, true
		}
	}
	return config.Config{}, nil, false
}

// ownerOf says whose state_dir is. It makes one that is missing, where make is set, for the agent's own user where there is one.
func ownerOf(dir string, create bool) (uid, gid int, err error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && create {
		uid, gid = os.Geteuid(), os.Getegid()
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return 0, 0, err
		}
		if u, uerr := user.Lookup(agentUser); uerr == nil && uid == 0 {
			uid, _ = strconv.Atoi(u.Uid)
			gid, _ = strconv.Atoi(u.Gid)
		}
		return uid, gid, os.Chown(dir, uid, gid)
	}
	if err != nil {
		return 0, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("cannot see whose %s is", dir)
	}
	return int(st.Uid), int(st.Gid), nil
}

// errNotOwner says that the files are those of another user.
var errNotOwner = errors.New("not the owner")

// asOwner does something with the files in state_dir as the user whose they are. Root becomes that user for it: what it wrote as root the
// agent could not read, and a link that the agent's user put there could lead root anywhere. Errors: errNotOwner.
func asOwner(dir string, create bool, do func() error) error {
	uid, gid, err := ownerOf(dir, create)
	if errors.Is(err, fs.ErrPermission) {
		return errNotOwner
	}
	if err != nil {
		return err
	}
	own, group := os.Geteuid(), os.Getegid()
	switch {
	case uid == own:
		return do()
	case own != 0:
		return errNotOwner
	}
	if err := errors.Join(syscall.Setresgid(-1, gid, -1), syscall.Setresuid(-1, uid, -1)); err != nil {
		return fmt.Errorf("cannot become the user of %s: %w", dir, err)
	}
	err = do()
	if back := errors.Join(syscall.Setresuid(-1, own, -1), syscall.Setresgid(-1, group, -1)); back != nil {
		return errors.Join(err, fmt.Errorf("cannot become root again: %w", back))
	}
	return err
}
