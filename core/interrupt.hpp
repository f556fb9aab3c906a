// Ctrl-C during a long loop.
#pragma once

namespace fedbn {

/// In a long loop that runs without the interpreter's lock: about ten times a second it takes the
/// lock and looks for Ctrl-C; throws what Python's handler raised.
void notice_interrupt();

}  // namespace fedbn
