#include "run/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace lockstep {
namespace {

volatile sig_atomic_t g_interrupts = 0;
volatile sig_atomic_t g_asked = 0;

void on_question(int) { g_asked = 1; }

void on_signal(int) {
  const int count = g_interrupts + 1;
  g_interrupts = count;
  if (count > 1) ::_exit(130);  // the kernel takes the workers along: they die with this thread
}

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll returns at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // Of a terminal that is closed; whoever began this with `nohup` does not want to know.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = on_question;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows past its limit is an error like a full disk
}

bool interrupted() { return g_interrupts > 0; }

bool take_question() { return std::exchange(g_asked, 0) != 0; }

}  // namespace lockstep
