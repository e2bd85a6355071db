// Package linkfault is the campaign over a bad network: many robots, each with the real agent and its store, behind proxies that break
// the line and lie as brokers do, at a real mosquitto with the shipped access list, and the real planner with its store. Plans run all
// the while; broker, planner and agents are killed and come back. At the end the two stores and each robot's own log say what was lost,
// doubled or out of order; nobody asks the code under test.
//
// What is not as on a robot: the link's time-outs are shorter by [Options].Pace, the catalog lets plans speak (so that each step can be
// told apart in the robot's log), and the robots live many times faster.
package linkfault
