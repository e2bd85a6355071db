/*
 * An executor for DeviceAgent in C: fades a lamp.
 *
 * It implements org.deviceagent.Executor1 (docs/dbus-executor.md) with one operation, fadeLamp {"level": 0..100}, which takes its time,
 * can be cancelled, paused and gone on with. Replace the four lamp_ functions by your hardware; the rest is what the agent relies on:
 *
 *   - a task id runs once, for ever: it is on disk before the lamp changes;
 *   - whoever asks after a restart hears the truth;
 *   - the event comes from what the lamp shows, not from the command.
 *
 * Needs libsystemd. Run: lamp_executor STATE_FILE [BUS_ADDRESS]     (no address: the system bus)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#define NAME "com.example.Lamp"
#define PATH "/com/example/Lamp"
#define INTERFACE "org.deviceagent.Executor1"
#define METHOD "fadeLamp"
#define SPEED 20.0             /* percent a second */
#define TICK_USEC 50000        /* between two looks at the lamp */
#define FEEDBACK_TICKS 10      /* so many ticks between two signs of life: seldom enough to disturb nobody */
#define MAX_TASKS 1000         /* ended tasks that are remembered */
#define MAX_ID 128             /* of a task id, as the contract says */

/* ------------------------------------------------------------------ the lamp: simulated; yours talks to a driver */

static double lamp_level;
static double lamp_target = -1; /* -1: it does not change */

static bool lamp_fading(void) { return lamp_target >= 0; }
static void lamp_fade(double target) { lamp_target = target; }
static void lamp_stop(void) { lamp_target = -1; }

/* Lets time pass; true: the level is reached. */
static bool lamp_step(double seconds) {
	double way = SPEED * seconds, left = lamp_target - lamp_level;
	if (!lamp_fading())
		return false;
	if (fabs(left) <= way) {
		lamp_level = lamp_target;
		lamp_stop();
		return true;
	}
	lamp_level += left > 0 ? way : -way;
	return false;
}

/* ------------------------------------------------------------------ what became of each task, on disk */

enum state { RUNNING, SEALED, DONE, FAILED, CANCELLED };
static const char *const state_words[] = {"running", "sealed", "done", "failed", "cancelled"};

struct task {
	char id[MAX_ID + 1];
	enum state state;
	double level;   /* what was seen at its end */
	long long seq;  /* of its event; 0: none */
};

static struct task tasks[MAX_TASKS + 1]; /* oldest first */
static size_t task_count;
static const char *state_path;

static struct task *find(const char *id) {
	for (size_t i = 0; i < task_count; i++)
		if (strcmp(tasks[i].id, id) == 0)
			return &tasks[i];
	return NULL;
}

/* Replaces the file as a whole: after a power cut there is the old one or the new one. 0, or a negative errno. */
static int save(void) {
	char beside[4096], folder[4096];
	int fd, dir, r = 0;
	FILE *f;

	if (snprintf(beside, sizeof beside, "%s.new", state_path) >= (int)sizeof beside)
		return -ENAMETOOLONG;
	f = fopen(beside, "we");
	if (!f)
		return -errno;
	for (size_t i = 0; i < task_count; i++)
		fprintf(f, "%s %s %.17g %lld\n", tasks[i].id, state_words[tasks[i].state], tasks[i].level, tasks[i].seq);
	if (fflush(f) != 0 || fsync(fileno(f)) < 0)
		r = errno ? -errno : -EIO;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(beside, state_path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	strcpy(folder, beside);
	dir = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the name, too, must be on disk */
	if (dir < 0)
		return -errno;
	fd = fsync(dir) < 0 ? -errno : 0;
	close(dir);
	return fd;
}

/* Reads the file. No file is the first start; one that cannot be read is an error: to forget is to run a task twice. */
static int load(void) {
	char word[16], line[256];
	FILE *f = fopen(state_path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (fgets(line, sizeof line, f)) {
		struct task *t = &tasks[task_count];
		size_t state = 0;
		if (task_count == MAX_TASKS || sscanf(line, "%128s %15s %lg %lld", t->id, word, &t->level, &t->seq) != 4) {
			fclose(f);
			return -EBADMSG;
		}
		while (state <= CANCELLED && strcmp(word, state_words[state]) != 0)
			state++;
		if (state > CANCELLED) {
			fclose(f);
			return -EBADMSG;
		}
		t->state = state == RUNNING ? FAILED : (enum state)state; /* it ended with the process that ran it */
		task_count++;
	}
	fclose(f);
	return save();
}

/* Adds or changes a task, on disk before it returns. The oldest one goes; only one runs, and that is never the oldest of a thousand. */
static int put(const char *id, enum state state, double level, long long seq) {
	struct task *t = find(id);
	if (!t) {
		if (task_count == MAX_TASKS)
			memmove(&tasks[0], &tasks[1], --task_count * sizeof tasks[0]);
		t = &tasks[task_count++];
		snprintf(t->id, sizeof t->id, "%s", id);
	}
	t->state = state;
	t->level = level;
	t->seq = seq;
	return save();
}

/* ------------------------------------------------------------------ the one task that runs */

static struct {
	char id[MAX_ID + 1]; /* "": none */
	double from, to;
	bool paused, cancelled;
	unsigned ticks;
} now;

static sd_bus *bus;
static sd_event_source *timer;
static long long seq;

static bool runs(const char *id) { return now.id[0] && strcmp(now.id, id) == 0; }

static void report(int r, const char *what) {
	if (r < 0)
		fprintf(stderr, "lamp_executor: cannot %s: %s\n", what, strerror(-r));
}

/* Adds {"name": variant} to an open a{sv}. */
static int add_text(sd_bus_message *m, const char *name, const char *text) { return sd_bus_message_append(m, "{sv}", name, "s", text); }
static int add_number(sd_bus_message *m, const char *name, double v) { return sd_bus_message_append(m, "{sv}", name, "d", v); }
static int add_flag(sd_bus_message *m, const char *name, int v) { return sd_bus_message_append(m, "{sv}", name, "b", v); }

static int add_context(sd_bus_message *m, const char *key) {
	if (strcmp(key, "lamp.level") == 0)
		return add_number(m, key, lamp_level);
	if (strcmp(key, "lamp.is_fading") == 0)
		return add_flag(m, key, lamp_fading());
	return 0; /* a key that is not ours is left out */
}

static int say_context(void) {
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_signal(bus, &m, PATH, INTERFACE, "Context");
	if (r >= 0) r = sd_bus_message_open_container(m, 'a', "{sv}");
	if (r >= 0) r = add_context(m, "lamp.level");
	if (r >= 0) r = add_context(m, "lamp.is_fading");
	if (r >= 0) r = sd_bus_message_close_container(m);
	if (r >= 0) r = sd_bus_message_append(m, "as", 0); /* none is gone */
	if (r >= 0) r = sd_bus_send(bus, m, NULL);
	sd_bus_message_unref(m);
	return r;
}

/* The fields of an event. It says what the lamp shows, so its class is independent. */
static int add_event(sd_bus_message *m, const char *task_id, double level, long long number) {
	int r = add_text(m, "task_id", task_id);
	if (r >= 0) r = add_text(m, "resource", "lamp");
	if (r >= 0) r = add_text(m, "source", "lamp_sensor");
	if (r >= 0) r = add_text(m, "source_class", "independent");
	if (r >= 0) r = sd_bus_message_append(m, "{sv}", "seq", "x", (int64_t)number);
	if (r >= 0) r = sd_bus_message_append(m, "{sv}", "data", "a{sv}", 1, "level", "d", level);
	return r;
}

static int say_event(const char *task_id, double level, long long number) {
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_signal(bus, &m, PATH, INTERFACE, "Event");
	if (r >= 0) r = sd_bus_message_append(m, "s", "lamp.faded");
	if (r >= 0) r = sd_bus_message_open_container(m, 'a', "{sv}");
	if (r >= 0) r = add_event(m, task_id, level, number);
	if (r >= 0) r = sd_bus_message_close_container(m);
	if (r >= 0) r = sd_bus_send(bus, m, NULL);
	sd_bus_message_unref(m);
	return r;
}

/* Ends the task that runs, once: on disk first, so that a Query never knows less than the signal said; then what was seen, then Result. */
static void end(enum state state, const char *reason) {
	char id[MAX_ID + 1];
	long long number = state == DONE ? ++seq : 0;

	strcpy(id, now.id);
	now.id[0] = '\0';
	lamp_stop();
	report(put(id, state, lamp_level, number), "write the end of a task");
	report(say_context(), "say the context");
	if (number)
		report(say_event(id, lamp_level, number), "say the event");
	report(sd_bus_emit_signal(bus, PATH, INTERFACE, "Result", "sssa{sv}", id, state_words[state], reason, 0), "say a result");
}

static int rearm(void) {
	int r = sd_event_source_set_time_relative(timer, TICK_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* Follows the task that runs. It is the only place that ends one, so a task has one Result. */
static int on_tick(sd_event_source *s, uint64_t usec, void *userdata) {
	double whole;
	(void)s; (void)usec; (void)userdata;

	if (!now.id[0])
		return 0;
	if (now.cancelled) {
		end(CANCELLED, "");
		return 0;
	}
	if (!now.paused && lamp_step(TICK_USEC / 1e6)) {
		end(DONE, "");
		return 0;
	}
	if (!now.paused && ++now.ticks % FEEDBACK_TICKS == 0) {
		whole = fabs(now.to - now.from);
		report(sd_bus_emit_signal(bus, PATH, INTERFACE, "Feedback", "sds", now.id, whole > 0 ? 100 * (1 - fabs(now.to - lamp_level) / whole) : 100.0, ""),
		       "say progress");
		report(say_context(), "say the context");
	}
	return rearm();
}

/* ------------------------------------------------------------------ the calls. Each answers at once: accepted is not done. */

static int answer(sd_bus_message *m, bool accepted, const char *reason) { return sd_bus_reply_method_return(m, "bs", (int)accepted, reason); }

/* Reads {"level": number} and nothing else. 1: it fits; 0: it does not; negative: not readable. */
static int read_params(sd_bus_message *m, double *level) {
	const char *key, *contents;
	int r, seen = 0, strange = 0;
	char type;

	r = sd_bus_message_enter_container(m, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		if ((r = sd_bus_message_read(m, "s", &key)) < 0 || (r = sd_bus_message_peek_type(m, &type, &contents)) < 0)
			return r;
		if (strcmp(key, "level") == 0 && strcmp(contents, "x") == 0) {
			int64_t whole;
			if ((r = sd_bus_message_read(m, "v", "x", &whole)) < 0)
				return r;
			*level = (double)whole;
			seen++;
		} else if (strcmp(key, "level") == 0 && strcmp(contents, "d") == 0) {
			if ((r = sd_bus_message_read(m, "v", "d", level)) < 0)
				return r;
			seen++;
		} else {
			if ((r = sd_bus_message_skip(m, "v")) < 0)
				return r;
			strange++;
		}
		if ((r = sd_bus_message_exit_container(m)) < 0)
			return r;
	}
	if (r < 0 || (r = sd_bus_message_exit_container(m)) < 0)
		return r;
	return seen == 1 && strange == 0 && *level >= 0 && *level <= 100;
}

/* A task id is a name of the contract, so it holds no space and no line end: the file can be read again. */
static bool good_id(const char *id) {
	size_t n = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-@");
	return n > 0 && n <= MAX_ID && id[n] == '\0';
}

static int invoke(sd_bus_message *m, void *userdata, sd_bus_error *error) {
	const char *id, *method;
	double level = -1;
	int r, fits;
	(void)userdata; (void)error;

	r = sd_bus_message_read(m, "ss", &id, &method);
	if (r < 0)
		return r;
	fits = read_params(m, &level);
	if (fits < 0)
		return fits;
	if (!good_id(id))
		return answer(m, false, "input_invalid");
	if (find(id))
		return answer(m, false, "task_known");
	if (strcmp(method, METHOD) != 0)
		return answer(m, false, "unknown_method");
	if (!fits)
		return answer(m, false, "input_invalid");
	if (now.id[0])
		return answer(m, false, "executor_busy");
	if ((r = put(id, RUNNING, lamp_level, 0)) < 0) { /* on disk before the lamp changes */
		report(r, "write a task");
		return answer(m, false, "storage_error");
	}
	memset(&now, 0, sizeof now);
	strcpy(now.id, id);
	now.from = lamp_level;
	now.to = level;
	lamp_fade(level);
	if ((r = rearm()) < 0)
		return r;
	return answer(m, true, "");
}

static int query(sd_bus_message *m, void *userdata, sd_bus_error *error) {
	const char *id;
	struct task *t;
	sd_bus_message *reply = NULL;
	int r;
	(void)userdata; (void)error;

	r = sd_bus_message_read(m, "s", &id);
	if (r < 0)
		return r;
	if (!good_id(id))
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_INVALID_ARGS, "no task id");
	t = find(id);
	if (!t) { /* who asks may send the work anew under another id: this one must never run */
		if ((r = put(id, SEALED, 0, 0)) < 0)
			return r;
		t = find(id);
	}
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0) r = sd_bus_message_append(reply, "s", t->state == RUNNING ? "running" : t->state == SEALED ? "unknown" : "ended");
	if (r >= 0) r = sd_bus_message_open_container(reply, 'a', "{sv}");
	if (r >= 0 && t->state == SEALED) r = add_flag(reply, "sealed", true);
	if (r >= 0 && t->state == RUNNING) r = add_flag(reply, "paused", now.paused);
	if (r >= 0 && t->state >= DONE) {
		r = add_text(reply, "outcome", state_words[t->state]);
		if (r >= 0 && t->state == FAILED) r = add_text(reply, "reason", "service_restarted");
		if (r >= 0 && t->seq) {
			r = sd_bus_message_open_container(reply, 'e', "sv");
			if (r >= 0) r = sd_bus_message_append(reply, "s", "event");
			if (r >= 0) r = sd_bus_message_open_container(reply, 'v', "a{sv}");
			if (r >= 0) r = sd_bus_message_open_container(reply, 'a', "{sv}");
			if (r >= 0) r = add_text(reply, "event", "lamp.faded");
			if (r >= 0) r = add_event(reply, t->id, t->level, t->seq);
			for (int i = 0; r >= 0 && i < 3; i++)
				r = sd_bus_message_close_container(reply);
		}
	}
	if (r >= 0) r = sd_bus_message_close_container(reply);
	if (r >= 0) r = sd_bus_send(bus, reply, NULL);
	sd_bus_message_unref(reply);
	return r;
}

static int cancel(sd_bus_message *m, void *userdata, sd_bus_error *error) {
	const char *id, *method;
	int r;
	(void)userdata; (void)error;

	r = sd_bus_message_read(m, "ss", &id, &method);
	if (r < 0)
		return r;
	if (!good_id(id))
		return answer(m, false, "input_invalid");
	if (!find(id)) { /* the cancel has overtaken its task, which must not begin later */
		if ((r = put(id, SEALED, 0, 0)) < 0)
			return r;
		return answer(m, false, "unknown_task");
	}
	if (runs(id)) {
		lamp_stop();
		now.cancelled = true; /* on_tick says so */
	}
	return answer(m, true, "");
}

static int hold(sd_bus_message *m, bool paused) {
	const char *id;
	int r = sd_bus_message_read(m, "s", &id);
	if (r < 0)
		return r;
	if (!runs(id) || now.cancelled || now.paused == paused)
		return answer(m, false, paused ? "not_running" : "not_paused");
	now.paused = paused;
	if (paused)
		lamp_stop();
	else
		lamp_fade(now.to);
	if ((r = answer(m, true, "")) < 0)
		return r;
	return sd_bus_emit_signal(bus, PATH, INTERFACE, "Held", "sb", id, (int)paused);
}

static int pause_task(sd_bus_message *m, void *userdata, sd_bus_error *error) { (void)userdata; (void)error; return hold(m, true); }
static int resume_task(sd_bus_message *m, void *userdata, sd_bus_error *error) { (void)userdata; (void)error; return hold(m, false); }

static int read_context(sd_bus_message *m, void *userdata, sd_bus_error *error) {
	sd_bus_message *reply = NULL;
	const char *key;
	int r;
	(void)userdata; (void)error;

	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0) r = sd_bus_message_open_container(reply, 'a', "{sv}");
	if (r >= 0) r = sd_bus_message_enter_container(m, 'a', "s");
	while (r >= 0 && (r = sd_bus_message_read(m, "s", &key)) > 0)
		r = add_context(reply, key);
	if (r >= 0) r = sd_bus_message_close_container(reply);
	if (r >= 0) r = sd_bus_send(bus, reply, NULL);
	sd_bus_message_unref(reply);
	return r;
}

static int health(sd_bus *b, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
	(void)b; (void)path; (void)interface; (void)property; (void)userdata; (void)error;
	return sd_bus_message_append(reply, "s", "ok");
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("Invoke", SD_BUS_ARGS("s", task_id, "s", method, "a{sv}", params), SD_BUS_RESULT("b", accepted, "s", reason), invoke, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Query", SD_BUS_ARGS("s", task_id), SD_BUS_RESULT("s", known, "a{sv}", details), query, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_ARGS("s", task_id, "s", method), SD_BUS_RESULT("b", accepted, "s", reason), cancel, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("s", task_id), SD_BUS_RESULT("b", accepted, "s", reason), pause_task, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("s", task_id), SD_BUS_RESULT("b", accepted, "s", reason), resume_task, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Read", SD_BUS_ARGS("as", keys), SD_BUS_RESULT("a{sv}", values), read_context, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL_WITH_ARGS("Feedback", SD_BUS_ARGS("s", task_id, "d", percent, "s", note), 0),
	SD_BUS_SIGNAL_WITH_ARGS("Held", SD_BUS_ARGS("s", task_id, "b", paused), 0),
	SD_BUS_SIGNAL_WITH_ARGS("Result", SD_BUS_ARGS("s", task_id, "s", outcome, "s", reason, "a{sv}", output), 0),
	SD_BUS_SIGNAL_WITH_ARGS("Event", SD_BUS_ARGS("s", event, "a{sv}", fields), 0),
	SD_BUS_SIGNAL_WITH_ARGS("Context", SD_BUS_ARGS("a{sv}", values, "as", gone), 0),
	SD_BUS_PROPERTY("Health", "s", health, 0, 0),
	SD_BUS_VTABLE_END,
};

/* ------------------------------------------------------------------ start and end */

static int connect_bus(const char *address) {
	int r;
	if (!address)
		return sd_bus_open_system(&bus);
	r = sd_bus_new(&bus);
	if (r >= 0) r = sd_bus_set_address(bus, address);
	if (r >= 0) r = sd_bus_set_bus_client(bus, true);
	if (r >= 0) r = sd_bus_start(bus);
	return r;
}

static int serve(const char *address) {
	sd_event *loop = NULL;
	sigset_t signals;
	int r;

	/* SIGTERM and SIGINT end the loop; without the bus it ends too, and systemd starts the program again. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	r = sd_event_default(&loop);
	if (r >= 0) r = sd_event_add_signal(loop, NULL, SIGTERM, NULL, NULL);
	if (r >= 0) r = sd_event_add_signal(loop, NULL, SIGINT, NULL, NULL);
	if (r >= 0) r = sd_event_add_time_relative(loop, &timer, CLOCK_MONOTONIC, TICK_USEC, 1000, on_tick, NULL);
	if (r >= 0) r = connect_bus(address);
	if (r >= 0) r = sd_bus_set_exit_on_disconnect(bus, true);
	if (r >= 0) r = sd_bus_attach_event(bus, loop, SD_EVENT_PRIORITY_NORMAL);
	if (r >= 0) r = sd_bus_add_object_vtable(bus, NULL, PATH, INTERFACE, vtable, NULL);
	/* The name comes last: whoever sees it finds all there. Nobody queues for it; two services of one name would both change the lamp. */
	if (r >= 0) r = sd_bus_request_name(bus, NAME, 0);
	if (r >= 0) r = sd_event_loop(loop);
	sd_event_source_unref(timer);
	sd_bus_flush_close_unref(bus);
	sd_event_unref(loop);
	return r;
}

int main(int argc, char **argv) {
	int r;
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: lamp_executor STATE_FILE [BUS_ADDRESS]\n");
		return 2;
	}
	state_path = argv[1];
	lamp_stop(); /* whatever a process before this one has left changing */
	r = load();
	if (r < 0) {
		fprintf(stderr, "lamp_executor: cannot read %s: %s\n", state_path, strerror(-r));
		return 1;
	}
	r = serve(argc > 2 ? argv[2] : NULL);
	if (r < 0) {
		fprintf(stderr, "lamp_executor: cannot serve %s: %s\n", NAME, strerror(-r));
		return 1;
	}
	return r;
}
